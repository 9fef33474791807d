import { type Static, Type } from 'typebox';
import { quirk } from '../kit/faults.ts';
import { JOB_FIELDS } from '../kit/record.ts';
import { stageOf, strangeWord } from '../kit/stage.ts';

export const JobSchema = Type.Object({
  ...JOB_FIELDS,
  /** The id that was posted. If it was posted twice, two jobs have it. */
  promptId: Type.String(),
  number: Type.Integer(),
  graph: Type.Unknown(),
  filename: Type.String(),
  subfolder: Type.String(),
  outputSpec: Type.Object({
    width: Type.Integer(),
    height: Type.Integer(),
    seconds: Type.Number(),
    audio: Type.Boolean(),
  }),
});
export type ComfyuiJob = Static<typeof JobSchema>;

const WORDS = {
  queued: 'pending',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
} as const;

/** The status in `/api/jobs`. */
export function wordOf(job: ComfyuiJob, jobSeconds: number): string {
  return strangeWord(job) ?? job.forcedStatus ?? WORDS[stageOf(job, jobSeconds)];
}

export function hasEnded(word: string): boolean {
  return word === 'completed' || word === 'failed' || word === 'cancelled';
}

/** `GET /api/jobs/{id}`. */
export function jobDetail(job: ComfyuiJob, word: string): unknown {
  const row = { ...jobRow(job, word), workflow: { prompt: job.graph, extra_data: {} } };
  if (!hasEnded(word)) return row;
  const error = word === 'failed' ? { execution_error: errorOf(job) } : {};
  const outputs = outputsOf(job, word);
  return { ...row, ...error, outputs };
}

/** A row of `GET /api/jobs`. */
export function jobRow(job: ComfyuiJob, word: string): Record<string, unknown> {
  return {
    id: job.promptId,
    status: word,
    priority: job.number,
    create_time: job.createdAt,
    outputs_count: word === 'completed' ? 1 : 0,
  };
}

function outputsOf(job: ComfyuiJob, word: string): unknown {
  if (word !== 'completed') return {};
  const { filename, subfolder } = job;
  return { '10': { images: [{ filename, subfolder, type: 'output' }], animated: [true] } };
}

function errorOf(job: ComfyuiJob): unknown {
  const fails = quirk(job, 'fails');
  return {
    prompt_id: job.promptId,
    node_id: '7',
    node_type: 'KSampler',
    exception_type: fails?.code ?? 'torch.OutOfMemoryError',
    exception_message: fails?.message ?? 'Allocation on device\n',
    traceback: ['  File "/srv/comfyui/execution.py", line 1, in execute\n'],
  };
}
