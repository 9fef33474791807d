import { statement, type Transaction } from '../../database/database.ts';
import type { Task } from '../task.ts';
import { move, postpone, type StepResult, Superseded } from '../transitions.ts';

const LOCK = statement(
  'task_lock_refused',
  `update tasks set refused_at = coalesce(refused_at, clock_now())
   where id = $1 and lease = $2
   returning announced_at is not null or wait_until <= clock_now() as announced,
     extract(epoch from clock_now() - refused_at)::float8 as refused_seconds`,
);

const REARM = statement(
  'key_rearm',
  `update idempotency_keys set task_id = null
   where account_id = $1 and surface = $2 and key = $3 and task_id = $4`,
);

/** The longest that a provider may put off the next try, in seconds. */
const MAX_WAIT_SECONDS = 300;

/**
 * How long the next try waits: a quarter of the time already spent trying, 1 to 30 seconds, or what
 * the provider asked for.
 */
function backoffSeconds(refusedSeconds: number, asked: number | undefined): number {
  const ours = Math.min(30, Math.max(1, refusedSeconds / 4));
  return Math.max(ours, askedSeconds(asked));
}

function askedSeconds(asked: number | undefined): number {
  return Math.min(MAX_WAIT_SECONDS, Math.ceil(asked ?? 0));
}

/**
 * What follows once it is certain that no provider took the task, and not for the client's fault
 * (design decision 2). Nobody counts on a task that was not announced: it fails with its refund and
 * its key is armed again. An announced one is tried again until `submitRetrySeconds` are over; if
 * it was held, it fails with its refund: such a task is never submitted again (decision 15).
 */
export async function notAccepted(
  tx: Transaction,
  task: Task,
  options: {
    submitRetrySeconds: number;
    cause: Record<string, unknown>;
    /** How long the provider asked to be left alone. */
    retryAfterSeconds?: number | undefined;
  },
): Promise<StepResult> {
  const [lock] = await tx.query<{ announced: boolean; refused_seconds: number }>(LOCK, [
    task.id,
    task.lease,
  ]);
  if (!lock) throw new Superseded(`${task.id} was taken over`);
  const { cause } = options;
  if (!lock.announced) {
    const message = 'The request was not accepted for now. Send it again with the same key.';
    const wait = askedSeconds(options.retryAfterSeconds);
    const details = wait > 0 ? { details: { retry_after_seconds: wait } } : {};
    const error = { code: 'not_accepted', message, ...details } as const;
    const failed = await move(tx, task, { to: 'failed', changes: { error }, cause });
    await tx.query(REARM, [task.account_id, task.surface, task.idempotency_key, task.id]);
    return failed;
  }
  if (task.phase === 'held') {
    const message = 'The provider did not take the request. The credits are returned.';
    const error = { code: 'not_accepted', message } as const;
    return move(tx, task, { to: 'failed', changes: { error }, cause });
  }
  if (lock.refused_seconds >= options.submitRetrySeconds) {
    const message = 'The generation provider was not available in time. The credits are returned.';
    const error = { code: 'provider_unavailable', message } as const;
    return move(tx, task, { to: 'failed', changes: { error }, cause });
  }
  const seconds = backoffSeconds(lock.refused_seconds, options.retryAfterSeconds);
  return postpone(tx, task, { seconds });
}
