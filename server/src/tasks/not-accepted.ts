import { command, statement, type Transaction } from '../database/database.ts';
import { jsonText } from '../database/json-text.ts';
import { secondsUntilFirstTrial } from '../providers/circuit-breaker/outages.ts';
import { listPauses } from '../providers/circuit-breaker/pauses.ts';
import { TASK_COLUMNS, TASK_FIELDS, type Task } from './task.ts';
import {
  type Changes,
  move,
  postpone,
  type StepResult,
  Superseded,
  superseded,
} from './transitions.ts';

// Once `wait_until` has passed, the create may respond with 202 at any moment: the task counts as
// announced.
const LOCK_AND_MARK = statement(
  'task_lock_not_accepted',
  `update tasks set refused_at = coalesce(refused_at, clock_now())
   where id = $1 and lease = $2
   returning announced_at is not null or wait_until <= clock_now() as announced,
     extract(epoch from clock_now() - refused_at)::float8 as refused_seconds`,
);

/**
 * Locks the task and records when it was first not accepted (`refused_at`).
 * @throws Superseded when another worker has the lease
 */
async function lockAndMark(tx: Transaction, { id, lease }: Task) {
  type Row = { announced: boolean; refused_seconds: number };
  const [row] = await tx.query<Row>(LOCK_AND_MARK, [id, lease]);
  if (!row) throw new Superseded(`${id} is leased by another worker`);
  return row;
}

const RELEASE_KEY = statement(
  'key_release',
  `update idempotency_keys set task_id = null
   where account_id = $1 and surface = $2 and key = $3 and task_id = $4`,
);

/** The connection of a route that is tried next. */
export interface NextConnection {
  connection: string;
  /** Why the route chose it, for operators. */
  reason?: string;
}

/** Cap on a provider's Retry-After. */
const MAX_WAIT_SECONDS = 300;

/**
 * A quarter of the time since the first attempt that was not accepted, between 1 and 30 seconds, or
 * the provider's Retry-After if that is longer (at most 300 s).
 */
function backoffSeconds(refusedSeconds: number, retryAfterSeconds?: number): number {
  const ownSeconds = Math.min(30, Math.max(1, refusedSeconds / 4));
  return Math.max(ownSeconds, waitSeconds(retryAfterSeconds));
}

function waitSeconds(retryAfterSeconds: number | undefined): number {
  return Math.min(MAX_WAIT_SECONDS, Math.ceil(retryAfterSeconds ?? 0));
}

/** After a round of several connections, the time until any of them may be tried again. */
async function secondsUntilRetry(
  tx: Transaction,
  { route_tried: tried, provider }: Task,
  lastConnectionSeconds: number | undefined,
): Promise<number | undefined> {
  return tried ? secondsUntilFirstTrial(tx, [...tried, provider]) : lastConnectionSeconds;
}

/**
 * Continues a task that certainly no provider has accepted, through no fault of the request (C2).
 * The next connection of its route is tried first. After the last one, an unannounced task fails,
 * is refunded, and releases its Idempotency-Key. An announced task is submitted again until
 * `submitRetrySeconds` have passed since the first attempt that was not accepted; then it fails and
 * is refunded. A held task is never submitted again (C15), so it fails at once.
 */
export async function retryOrFail(
  tx: Transaction,
  task: Task,
  options: {
    submitRetrySeconds: number;
    cause: Record<string, unknown>;
    retryAfterSeconds?: number | undefined;
    /** The connection to try next, unless the task was held; undefined: all were tried. */
    next?: NextConnection | undefined;
  },
): Promise<StepResult> {
  const locked = await lockAndMark(tx, task);
  if (options.next !== undefined && task.phase === 'submitting') {
    return tryNext(tx, task, options.next, options.cause);
  }
  const retryAfterSeconds = await secondsUntilRetry(tx, task, options.retryAfterSeconds);
  const fail = (error: NonNullable<Changes['error']>) =>
    move(tx, task, { to: 'failed', changes: { error }, cause: options.cause });
  // The messages name no provider: the cause may be the service's own, such as its storage.
  if (!locked.announced) {
    const message =
      'The task could not be started. Send it again later with the same Idempotency-Key.';
    const wait = waitSeconds(retryAfterSeconds);
    const details = wait > 0 ? { details: { retry_after_seconds: wait } } : {};
    const failed = await fail({ code: 'not_accepted', message, ...details });
    await tx.query(RELEASE_KEY, [task.account_id, task.surface, task.idempotency_key, task.id]);
    return failed;
  }
  if (task.phase === 'held') {
    const message = 'The provider did not accept the request. The credits are refunded.';
    return fail({ code: 'not_accepted', message });
  }
  if (locked.refused_seconds >= options.submitRetrySeconds) {
    const message = 'The task could not be started in time. The credits are refunded.';
    return fail({ code: 'provider_unavailable', message });
  }
  const seconds = backoffSeconds(locked.refused_seconds, retryAfterSeconds);
  return postponeRoute(tx, task, seconds);
}

// A cause is recorded once: during an outage that lasts days, every round has the same causes.
const NEXT = statement(
  'task_next_connection',
  `with moved as (
     update tasks set provider = $3, route_tried = array_append(route_tried, provider)
     where id = $1 and lease = $2 and phase = 'submitting'
     returning ${TASK_COLUMNS}),
   history as (
     insert into task_history (task_id, phase, cause) select id, phase, $4::jsonb from moved
     where not exists (select from task_history h
       where h.task_id = moved.id and h.cause - 'choice' = $4::jsonb - 'choice'))
   select ${TASK_FIELDS} from moved`,
);

/** Gives the task to the next connection. The worker keeps its lease and submits at once. */
async function tryNext(
  tx: Transaction,
  task: Task,
  { connection: next, reason: choice }: NextConnection,
  cause: Record<string, unknown>,
): Promise<Task> {
  const why = jsonText({ ...cause, connection: task.provider, next, choice });
  const [moved] = await tx.query<Task>(NEXT, [task.id, task.lease, next, why]);
  if (!moved) throw superseded(task);
  return moved;
}

const RESTART_ROUTE = statement(
  'task_restart_route',
  `update tasks set provider = route_tried[1], route_tried = null
   where id = $1 and lease = $2 and route_tried is not null`,
);

/** Postpones a task after its last connection; it begins with the first one again. */
async function postponeRoute(tx: Transaction, task: Task, seconds: number): Promise<StepResult> {
  if (task.route_tried) await tx.query(RESTART_ROUTE, [task.id, task.lease]);
  return postpone(tx, task, { seconds });
}

const UNMARK = statement(
  'task_unmark_not_accepted',
  'update tasks set refused_at = null where id = $1 and lease = $2',
);

const STATE_BY = { operator: 'paused', outage: 'closed' };

/** Jitter, so that tasks waiting for a provider don't all become due at once. */
const SPREAD_SECONDS = 5;

/** Whether an operator paused all other connections that the task tried in this round. */
async function areOthersPaused(tx: Transaction, tried: readonly string[] | null): Promise<boolean> {
  if (!tried) return true; // there were no others
  const paused = new Set((await listPauses(tx)).map(({ subject }) => subject));
  return tried.every((name) => paused.has(name));
}

/**
 * Postpones a task whose provider takes no jobs now, or that can't be moderated now; its inputs are
 * kept. An outage counts toward `submitRetrySeconds` like an attempt that is not accepted. An
 * operator's pause counts only if this round tried a connection that is not paused. When a round
 * that counts has tried several connections in vain, an unannounced task fails, so that its client
 * can retry.
 * @param blocked.seconds until the task may try again
 * @param blocked.next the connection that is tried instead, at once
 */
export async function awaitProvider(
  tx: Transaction,
  task: Task,
  blocked: {
    by: 'operator' | 'outage';
    seconds: number;
    submitRetrySeconds: number;
    next?: NextConnection | undefined;
    what?: 'provider' | 'moderation';
  },
): Promise<StepResult> {
  const { what = 'provider', by, submitRetrySeconds } = blocked;
  const cause = { [what]: STATE_BY[by] };
  if (blocked.next !== undefined) return tryNext(tx, task, blocked.next, cause);
  const spreadSeconds = Math.random() * SPREAD_SECONDS;
  if (by === 'operator' && (await areOthersPaused(tx, task.route_tried))) {
    await tx.query(UNMARK, [task.id, task.lease]);
    return postponeRoute(tx, task, blocked.seconds + spreadSeconds);
  }
  const { announced, refused_seconds: refusedSeconds } = await lockAndMark(tx, task);
  const failsUnannounced = task.route_tried !== null && !announced;
  if (failsUnannounced || refusedSeconds >= submitRetrySeconds) {
    return retryOrFail(tx, task, { submitRetrySeconds, cause });
  }
  const seconds =
    (await secondsUntilRetry(tx, task, blocked.seconds)) || backoffSeconds(refusedSeconds);
  return postponeRoute(tx, task, seconds + spreadSeconds);
}

/** Makes waiting submits due now: those of a connection or of these models. */
export const wakeWaiting = command<[connection: string, models: string[]]>(
  'task_wake_waiting',
  `update tasks set due_at = clock_now() where id in (
     select id from tasks where (provider = $1 or request->>'model' = any($2))
       and phase = 'submitting' and due_at is not null
       and due_at > clock_now() and leased_until is null
     for update skip locked)`,
);
