import { quirk } from './faults.ts';
import type { BaseJob } from './record.ts';

export type Stage = 'queued' | 'running' | 'succeeded' | 'failed';

/**
 * The stage of a job by its age: the first third is in the queue. Each simulator maps it to its own
 * words.
 */
export function stageOf(job: BaseJob, jobSeconds: number, now = Date.now()): Stage {
  const ageSeconds = (now - job.createdAt) / 1000;
  if (ageSeconds < jobSeconds / 3) return 'queued';
  if (ageSeconds < jobSeconds || quirk(job, 'never_ends')) return 'running';
  return quirk(job, 'fails') ? 'failed' : 'succeeded';
}

/** The word of the `status_word` fault, while the fault lasts. */
export function strangeWord(job: BaseJob, now = Date.now()): string | undefined {
  const fault = quirk(job, 'status_word');
  const lasts = now - job.createdAt < (fault?.seconds ?? Number.POSITIVE_INFINITY) * 1000;
  return lasts ? fault?.word : undefined;
}

/** Whether a list shows the job yet. */
export function isListed(job: BaseJob): boolean {
  const lagSeconds = quirk(job, 'list_lag')?.seconds ?? 0;
  return !quirk(job, 'vanishes') && Date.now() - job.createdAt >= lagSeconds * 1000;
}
