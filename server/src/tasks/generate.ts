import type { Database } from '../kernel/database.ts';
import type { JobStatus, Provider } from '../providers/provider.ts';
import { liveAttempt } from './attempts.ts';
import type { Task } from './task.ts';
import { moveNow, type Next, postpone } from './transitions.ts';

export interface GenerateParts {
  db: Database;
  providerOf(task: Task): Provider;
  pollMinSeconds: number;
  pollMaxSeconds: number;
}

/** Reads the accepted job, and moves the task on when the provider is done with it. */
export async function generate(parts: GenerateParts, task: Task): Promise<Next> {
  const { db } = parts;
  const jobId = await acceptedJob(db, task);
  const status = await parts.providerOf(task).read(jobId);
  if (status.kind === 'working') return postpone(db, task, { seconds: pollSeconds(parts, task) });
  return moveNow(db, task, ended(status, jobId));
}

/** A task held for its outcome: the job is read again until the provider is done with it. */
export async function recheck(
  parts: GenerateParts & { reconcileSeconds: number },
  task: Task,
): Promise<Next> {
  const jobId = await acceptedJob(parts.db, task);
  const status = await parts.providerOf(task).read(jobId);
  if (status.kind === 'working' || status.kind === 'missing') {
    return postpone(parts.db, task, { seconds: parts.reconcileSeconds });
  }
  return moveNow(parts.db, task, ended(status, jobId));
}

async function acceptedJob(db: Database, task: Task): Promise<string> {
  const attempt = await liveAttempt(db, task.id);
  if (!attempt?.job_id) throw new Error(`${task.id} has no accepted attempt`);
  return attempt.job_id;
}

/** A quarter of the time the job has been running, within the configured bounds. */
function pollSeconds(parts: GenerateParts, task: Task): number {
  return Math.min(parts.pollMaxSeconds, Math.max(parts.pollMinSeconds, task.phase_seconds / 4));
}

function ended(status: Exclude<JobStatus, { kind: 'working' }>, jobId: string) {
  switch (status.kind) {
    case 'succeeded':
      return { to: 'archiving', changes: { providerOutput: status.output } } as const;
    case 'failed': {
      const error = { code: status.code, message: status.message };
      return { to: 'failed', changes: { error }, cause: { job: jobId, ...status } } as const;
    }
    case 'missing':
      return {
        to: 'held',
        changes: { heldCause: 'outcome' },
        cause: { job: jobId, reason: 'the provider does not know the job any more' },
      } as const;
  }
}
