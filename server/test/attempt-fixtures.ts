import assert from 'node:assert/strict';
import { currentAttempt } from '../src/attempts/attempts.ts';
import {
  type CallbackDeps,
  type CallbackResult,
  receiveCallback,
} from '../src/attempts/callback.ts';
import { findJobOf } from '../src/attempts/find-job.ts';
import { showTask } from '../src/operator/listings/task-records.ts';
import type { Callback, FindOutcome, JobStatus, Provider } from '../src/providers/provider.ts';
import { readTask, type Task } from '../src/tasks/task.ts';
import { quiet } from './database.ts';
import { scriptedProvider, submitDeps, type TaskFixture } from './task-fixtures.ts';

export const ABSENT: FindOutcome = { kind: 'absent', proof: 'weak' };

/** A provider that knows these jobs and whose `find` returns `listed`. */
export function providerWith(
  jobs: Record<string, JobStatus['kind']>,
  listed: FindOutcome = ABSENT,
): Provider {
  return scriptedProvider({
    find: async () => listed,
    read: async (jobId) => (jobs[jobId] === 'working' ? { kind: 'working' } : { kind: 'missing' }),
  });
}

/** What a callback that the scripted provider reads as `callback` is received with. */
export function callbackDeps({ db }: TaskFixture, callback: Callback): CallbackDeps {
  const scripted = scriptedProvider({ readCallback: async () => callback });
  return {
    db,
    log: quiet,
    providers: new Map([['scripted', scripted]]),
    links: { attemptOf: (_provider, segment) => segment.split('.')[0] },
    wakeUps: { send: () => {} },
  };
}

/** Sends a callback to the attempt's address. */
export function callBack(
  fixture: TaskFixture,
  attemptId: string,
  callback: Callback,
): Promise<CallbackResult> {
  const incoming = { provider: 'scripted', segment: `${attemptId}.token`, body: new Uint8Array() };
  return receiveCallback(callbackDeps(fixture, callback), { ...incoming, headers: {} });
}

/** A callback that names a job; `verified` if its signature is valid. */
export function report(jobId: string | null, verified = false): Callback {
  return { kind: 'report', jobId, verified };
}

/** Asks the provider for the job of the task's attempt. */
export async function findAgain(fixture: TaskFixture, task: Task, by: Provider): Promise<Task> {
  const attempt = await currentAttempt(fixture.db, task.id);
  assert.ok(attempt);
  await findJobOf(submitDeps(fixture, by), task, attempt);
  return readTask(fixture.db, task.id);
}

/** What `framewright tasks show` prints about a task. */
export function detailsOf({ db }: TaskFixture, taskId: string): ReturnType<typeof showTask> {
  return showTask(db, taskId);
}
