import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { quirk } from '../kit/faults.ts';
import type { OutputSpec } from '../kit/outputs.ts';
import { JOB_FIELDS } from '../kit/record.ts';
import { RATIOS, RESOLUTIONS, seedanceSize } from '../kit/seedance-sizes.ts';
import { stageOf, strangeWord } from '../kit/stage.ts';

/** The input of Seedance 2.0 as on fal's model pages; other fields are refused. */
const InputSchema = Type.Object(
  {
    prompt: Type.String(),
    aspect_ratio: Type.Optional(Type.Enum(['auto', ...RATIOS])),
    duration: Type.Optional(Type.String({ pattern: '^(auto|[4-9]|1[0-5])$' })),
    resolution: Type.Optional(Type.Enum([...RESOLUTIONS])),
    generate_audio: Type.Optional(Type.Boolean()),
    end_user_id: Type.Optional(Type.String()),
    image_url: Type.Optional(Type.String()),
    end_image_url: Type.Optional(Type.String()),
    image_urls: Type.Optional(Type.Array(Type.String(), { maxItems: 9 })),
    video_urls: Type.Optional(Type.Array(Type.String(), { maxItems: 3 })),
  },
  { additionalProperties: false },
);

const FalJobSchema = Type.Object({
  ...JOB_FIELDS,
  endpoint: Type.String(),
  input: Type.Object({}, { additionalProperties: true }),
});
export type FalJob = Static<typeof FalJobSchema>;

export function parseJob(value: unknown): FalJob {
  return Value.Parse(FalJobSchema, value);
}

/** How a request ended. The status of both is COMPLETED. */
export type Ending = { kind: 'ok' } | { kind: 'error'; status: number; code: string; text: string };

/** fal's error types of its platform; every other type is one of a model, with status 422. */
const PLATFORM_STATUS: Record<string, number> = {
  request_timeout: 504,
  startup_timeout: 504,
  runner_disconnected: 503,
  runner_server_error: 500,
  internal_error: 500,
  client_cancelled: 499,
};

/** The status of a request; a forced one can be any word. */
export function wordOf(job: FalJob, jobSeconds: number): string {
  const word = strangeWord(job) ?? job.forcedStatus;
  if (word) return word;
  const stage = stageOf(job, jobSeconds);
  if (stage === 'queued') return 'IN_QUEUE';
  return stage === 'running' ? 'IN_PROGRESS' : 'COMPLETED';
}

/** fal checks the input only when the request runs: an invalid one is queued like any other. */
export function endingOf(job: FalJob): Ending {
  const fails = quirk(job, 'fails');
  if (fails) {
    const code = fails.code ?? 'internal_error';
    const text = fails.message ?? 'a planned fault made it fail';
    return { kind: 'error', status: PLATFORM_STATUS[code] ?? 422, code, text };
  }
  if (Value.Check(InputSchema, job.input)) return { kind: 'ok' };
  const [error] = Value.Errors(InputSchema, job.input);
  return { kind: 'error', status: 422, code: 'value_error', text: error?.message ?? 'invalid' };
}

export function outputSpecOf({ input }: FalJob): OutputSpec {
  const known = Value.Check(InputSchema, input) ? input : { prompt: '' };
  const ratio = RATIOS.find((one) => one === known.aspect_ratio) ?? '16:9';
  const resolution = RESOLUTIONS.find((one) => one === known.resolution) ?? '720p';
  const seconds = Number(known.duration) || 5;
  return { ...seedanceSize(resolution, ratio), seconds, audio: known.generate_audio ?? true };
}
