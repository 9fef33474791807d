import { type Database, queryFirst, statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import type { Callback, Provider } from '../providers/provider.ts';
import type { Links } from '../storage/links.ts';
import { wakeTask } from '../tasks/transitions.ts';
import type { WakeUps } from '../tasks/wake-ups.ts';
import { recordEvidence } from './evidence.ts';
import { recordOrphans } from './orphans.ts';

export interface CallbackDeps {
  db: Database;
  log: Log;
  links: Pick<Links, 'attemptOf'>;
  providers: ReadonlyMap<string, Provider>;
  wakeUps: Pick<WakeUps, 'send'>;
}

interface IncomingCallback {
  provider: string;
  /** The last segment of the path: the attempt's id and its token. */
  segment: string;
  body: Uint8Array;
  headers: Record<string, string | undefined>;
}

/**
 * `no_such_path`: the address belongs to no attempt. `forged`: the signature or the body is not
 * valid.
 */
export type CallbackResult = 'received' | 'no_such_path' | 'forged';

/**
 * Records a provider's callback as evidence and wakes the task, whose next step decides what it
 * proves (find-job.ts). For a task that has ended or has another job, it is late evidence (C16).
 * @throws Error if the signature can't be checked now, so that the provider retries
 */
export async function receiveCallback(
  deps: CallbackDeps,
  incoming: IncomingCallback,
): Promise<CallbackResult> {
  const { links, db, log } = deps;
  const attemptId = links.attemptOf(incoming.provider, incoming.segment);
  if (attemptId === undefined) return 'no_such_path';
  const found = await readTaskOf(db, incoming.provider, attemptId);
  if (found === undefined) return 'no_such_path';
  const { task_id: taskId } = found;
  const callback = await readCallback(deps, incoming);
  if (callback.kind === 'forged') {
    const ids = { task: taskId, attempt: attemptId };
    log.warn({ ...ids, cause: callback.cause }, 'rejected a forged callback');
    return 'forged';
  }
  const wake = async () => {
    await wakeTask(db, taskId);
    deps.wakeUps.send('poll'); // for a generating task; a held one waits for the next sweep
  };
  // A generating task need not wait for the evidence: its step reads the job at the provider.
  if (found.is_generating) await wake();
  if (!(await recordReport(db, attemptId, callback))) return 'no_such_path';
  if (!found.is_generating) await wake();
  return 'received';
}

/** @throws Error if this process does not have the provider; another process may */
async function readCallback(deps: CallbackDeps, incoming: IncomingCallback): Promise<Callback> {
  const provider = deps.providers.get(incoming.provider);
  if (!provider) throw new Error(`this process has no provider named ${incoming.provider}`);
  if (!provider.readCallback) return { kind: 'report', jobId: null, verified: false };
  return provider.readCallback({ body: incoming.body, headers: incoming.headers });
}

const readTaskOf = queryFirst<
  [provider: string, attemptId: string],
  { task_id: string; is_generating: boolean }
>(
  'attempt_task_of',
  `select task_id, phase = 'generating' as is_generating
   from attempts join tasks on tasks.id = task_id
   where attempts.provider = $1 and attempts.id = $2`,
);

const LOCK = statement('attempt_lock', 'select from attempts where id = $1 for update');

/**
 * Locks the attempt, so that a finding and an outcome are recorded one after the other: the second
 * transaction sees the first, and no orphan job is missed.
 * @returns false when the attempt no longer exists
 */
async function recordReport(
  db: Database,
  attemptId: string,
  { jobId, verified }: Extract<Callback, { kind: 'report' }>,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    if ((await tx.query(LOCK, [attemptId])).length === 0) return false;
    await recordEvidence(tx, attemptId, 'callback', { job: jobId, verified });
    await recordOrphans(tx, attemptId);
    return true;
  });
}
