import { command, statement, type Transaction } from '../database/database.ts';
import type { Task } from './task.ts';
import { type Changes, move, postpone, type StepResult, Superseded } from './transitions.ts';

// After its wait a create may respond with 202 at any moment, so the task counts as announced.
const LOCK = statement(
  'task_lock_refused',
  `update tasks set refused_at = coalesce(refused_at, clock_now())
   where id = $1 and lease = $2
   returning announced_at is not null or wait_until <= clock_now() as announced,
     extract(epoch from clock_now() - refused_at)::float8 as refused_seconds`,
);

/** @throws Superseded when another worker has the lease */
async function lockRefused(tx: Transaction, { id, lease }: Task) {
  const [row] = await tx.query<{ announced: boolean; refused_seconds: number }>(LOCK, [id, lease]);
  if (!row) throw new Superseded(`${id} is leased by another worker`);
  return row;
}

const RELEASE_KEY = statement(
  'key_release',
  `update idempotency_keys set task_id = null
   where account_id = $1 and surface = $2 and key = $3 and task_id = $4`,
);

/** Cap on a provider's Retry-After. */
const MAX_WAIT_SECONDS = 300;

/**
 * A quarter of the time since the first attempt that was not accepted, between 1 and 30 seconds, or
 * the provider's Retry-After if that is longer (at most 300 s).
 */
function backoffSeconds(refusedSeconds: number, retryAfterSeconds: number | undefined): number {
  const ownSeconds = Math.min(30, Math.max(1, refusedSeconds / 4));
  return Math.max(ownSeconds, waitSeconds(retryAfterSeconds));
}

function waitSeconds(retryAfterSeconds: number | undefined): number {
  return Math.min(MAX_WAIT_SECONDS, Math.ceil(retryAfterSeconds ?? 0));
}

/**
 * Continues a task that certainly no provider has accepted, through no fault of the request (C2).
 * If the task was not announced, it fails, its credits are refunded and its Idempotency-Key is
 * released. An announced task is submitted again until `submitRetrySeconds` have passed since the
 * first attempt that was not accepted; then it fails and its credits are refunded. An announced
 * task that was held fails at once, because a held task is never submitted again (C15).
 */
export async function notAccepted(
  tx: Transaction,
  task: Task,
  options: {
    submitRetrySeconds: number;
    cause: Record<string, unknown>;
    retryAfterSeconds?: number | undefined;
  },
): Promise<StepResult> {
  const lock = await lockRefused(tx, task);
  const fail = (error: NonNullable<Changes['error']>) =>
    move(tx, task, { to: 'failed', changes: { error }, cause: options.cause });
  // The messages name no provider: the cause may be the service's own, such as its storage.
  if (!lock.announced) {
    const message =
      'The task could not be started. Send it again later with the same Idempotency-Key.';
    const wait = waitSeconds(options.retryAfterSeconds);
    const details = wait > 0 ? { details: { retry_after_seconds: wait } } : {};
    const failed = await fail({ code: 'not_accepted', message, ...details });
    await tx.query(RELEASE_KEY, [task.account_id, task.surface, task.idempotency_key, task.id]);
    return failed;
  }
  if (task.phase === 'held') {
    const message = 'The provider did not accept the request. The credits are refunded.';
    return fail({ code: 'not_accepted', message });
  }
  if (lock.refused_seconds >= options.submitRetrySeconds) {
    const message = 'The task could not be started in time. The credits are refunded.';
    return fail({ code: 'provider_unavailable', message });
  }
  const seconds = backoffSeconds(lock.refused_seconds, options.retryAfterSeconds);
  return postpone(tx, task, { seconds });
}

const FORGET_REFUSAL = statement(
  'task_forget_refusal',
  'update tasks set refused_at = null where id = $1 and lease = $2',
);

/** Jitter, so that tasks waiting for a provider don't all become due at once. */
const SPREAD_SECONDS = 5;

/**
 * Postpones a task whose provider takes no jobs now; its inputs are kept. An outage counts toward
 * the retry time like an attempt that is not accepted; an operator's pause does not.
 * @param closure.seconds until it may ask again
 */
export async function awaitProvider(
  tx: Transaction,
  task: Task,
  closure: { by: 'operator' | 'outage'; seconds: number; submitRetrySeconds: number },
): Promise<StepResult> {
  const seconds = closure.seconds + Math.random() * SPREAD_SECONDS;
  if (closure.by === 'operator') {
    await tx.query(FORGET_REFUSAL, [task.id, task.lease]);
    return postpone(tx, task, { seconds });
  }
  const { submitRetrySeconds } = closure;
  if ((await lockRefused(tx, task)).refused_seconds >= submitRetrySeconds) {
    return notAccepted(tx, task, { submitRetrySeconds, cause: { provider: 'closed' } });
  }
  return postpone(tx, task, { seconds });
}

/** Makes tasks due that are waiting to be submitted to a provider. */
export const wakeWaiting = command<[provider: string]>(
  'task_wake_waiting',
  `update tasks set due_at = clock_now() where id in (
     select id from tasks where provider = $1 and phase = 'submitting' and due_at is not null
       and due_at > clock_now() and leased_until is null
     for update skip locked)`,
);
