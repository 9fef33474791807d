import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { quirk } from '../kit/faults.ts';
import type { OutputSpec } from '../kit/outputs.ts';
import { JOB_FIELDS } from '../kit/record.ts';
import { RATIOS, RESOLUTIONS, seedanceSize } from '../kit/seedance-sizes.ts';
import { stageOf, strangeWord } from '../kit/stage.ts';
import { MODELS } from './models.ts';

const Image = { type: Type.Literal('image_url'), image_url: Type.Object({ url: Type.String() }) };
const Video = {
  type: Type.Literal('video_url'),
  video_url: Type.Object({ url: Type.String({ pattern: '^https?://' }) }),
};

/** The request of Seedance 2.0 by OpenRouter's API reference and its list of video models. */
export const RequestSchema = Type.Object(
  {
    model: Type.String(),
    prompt: Type.String(),
    duration: Type.Optional(Type.Integer({ minimum: 4, maximum: 15 })),
    resolution: Type.Optional(Type.Enum(['480p', '720p', '1080p', '4K'])),
    aspect_ratio: Type.Optional(Type.Enum([...RATIOS, '9:21'])),
    frame_images: Type.Optional(
      Type.Array(Type.Object({ ...Image, frame_type: Type.Enum(['first_frame', 'last_frame']) })),
    ),
    input_references: Type.Optional(
      Type.Array(Type.Union([Type.Object(Image), Type.Object(Video)])),
    ),
    generate_audio: Type.Optional(Type.Boolean()),
    seed: Type.Optional(Type.Integer()),
    callback_url: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);
type Request = Static<typeof RequestSchema>;

const OpenRouterJobSchema = Type.Object({ ...JOB_FIELDS, request: RequestSchema });
export type OpenRouterJob = Static<typeof OpenRouterJobSchema>;

export function parseJob(value: unknown): OpenRouterJob {
  return Value.Parse(OpenRouterJobSchema, value);
}

/** Why the model does not take the request; undefined if it does. */
export function refusalOf({ model, resolution = '720p' }: Request): string | undefined {
  const supported = MODELS.find(({ id }) => id === model)?.supported_resolutions;
  if (!supported) return `${model} is not a valid model ID`;
  if (supported.some((one) => one === resolution)) return undefined;
  const list = supported.join(', ');
  return `Resolution ${resolution} is not supported for this model. Supported resolutions: ${list}`;
}

const WORDS = {
  queued: 'pending',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
};

export function wordOf(job: OpenRouterJob, jobSeconds: number): string {
  return strangeWord(job) ?? job.forcedStatus ?? WORDS[stageOf(job, jobSeconds)];
}

/** A failed job says why in one text, without a code. */
export function errorText(job: OpenRouterJob): string {
  const fails = quirk(job, 'fails');
  return fails?.message ?? fails?.code ?? 'A planned fault made it fail';
}

export function outputSpecOf({ request }: OpenRouterJob): OutputSpec {
  const ratio = RATIOS.find((one) => one === request.aspect_ratio) ?? '16:9';
  const wanted = request.resolution?.toLowerCase();
  const resolution = RESOLUTIONS.find((one) => one === wanted) ?? '720p';
  const { duration: seconds = 5, generate_audio: audio = true } = request;
  return { ...seedanceSize(resolution, ratio), seconds, audio };
}
