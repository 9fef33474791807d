import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { quirk } from '../kit/faults.ts';
import type { OutputSpec } from '../kit/outputs.ts';
import { JOB_FIELDS } from '../kit/record.ts';
import { RATIOS, RESOLUTIONS, seedanceSize } from '../kit/seedance-sizes.ts';
import { stageOf, strangeWord } from '../kit/stage.ts';

/** The input of Seedance 2.0 as on its model page on Replicate. */
export const InputSchema = Type.Object({
  prompt: Type.String(),
  image: Type.Optional(Type.String({ pattern: '^https?://' })),
  last_frame_image: Type.Optional(Type.String({ pattern: '^https?://' })),
  reference_images: Type.Optional(Type.Array(Type.String(), { maxItems: 9 })),
  reference_videos: Type.Optional(Type.Array(Type.String(), { maxItems: 3 })),
  duration: Type.Optional(Type.Integer({ minimum: -1, maximum: 15 })),
  resolution: Type.Optional(Type.Enum([...RESOLUTIONS])),
  aspect_ratio: Type.Optional(Type.Enum(['adaptive', ...RATIOS])),
  generate_audio: Type.Optional(Type.Boolean()),
  seed: Type.Optional(Type.Integer()),
});

const ReplicateJobSchema = Type.Object({
  ...JOB_FIELDS,
  model: Type.String(),
  input: InputSchema,
  events: Type.Array(Type.String()),
  /** Milliseconds since 1970. */
  deadlineAt: Type.Number(),
  /** Whether predictions show their webhook URL. */
  showsWebhook: Type.Boolean(),
});
export type ReplicateJob = Static<typeof ReplicateJobSchema>;

export function parseJob(value: unknown): ReplicateJob {
  return Value.Parse(ReplicateJobSchema, value);
}

/** The status of a prediction, which depends on its deadline. */
export function wordOf(job: ReplicateJob, jobSeconds: number): string {
  const now = Date.now();
  const word = strangeWord(job, now) ?? job.forcedStatus;
  if (word) return word;
  const stage = stageOf(job, jobSeconds, Math.min(now, job.deadlineAt));
  const isOver = now >= job.deadlineAt;
  if (stage === 'queued') return isOver ? 'aborted' : 'starting';
  if (stage === 'running') return isOver ? 'canceled' : 'processing';
  return stage;
}

/** Text that ends with Replicate's error code, for example E005 (flagged as sensitive). */
export function errorText(job: ReplicateJob): string | null {
  const fails = quirk(job, 'fails');
  if (!fails) return null;
  const code = fails.code === undefined ? '' : ` (${fails.code})`;
  return `${fails.message ?? 'A planned fault made it fail.'}${code}`;
}

export function outputSpecOf({ input }: ReplicateJob): OutputSpec {
  const ratio = RATIOS.find((one) => one === input.aspect_ratio) ?? '16:9';
  const resolution = RESOLUTIONS.find((one) => one === input.resolution) ?? '720p';
  const seconds = input.duration === undefined || input.duration < 1 ? 5 : input.duration;
  return { ...seedanceSize(resolution, ratio), seconds, audio: input.generate_audio ?? true };
}
