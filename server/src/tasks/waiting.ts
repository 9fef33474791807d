import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { announce } from './create/idempotency-keys.ts';
import {
  type FailureCode,
  PHASES_BEFORE_ACCEPTANCE,
  readTask,
  TASK_COLUMNS,
  type Task,
} from './task.ts';

/** Poll interval for the tasks of waiting creates, and of waiting reads while only few wait. */
const TICK_SECONDS = 0.03;
/** With more waiting reads than this, their tasks are polled less often. */
const FEW_READS = 100;
const MANY_TICK_SECONDS = 0.1;
/** The pause after a failed read. */
const PAUSE_SECONDS = 0.5;

/** How many reads may wait at once. An API key may send 30 requests a minute. */
const SLOTS = { perKey: 20, all: 4000 };

interface WaitingRead {
  taskId: string;
  seconds: number;
  keyId: string;
  /** Aborts when the client has gone. */
  signal: AbortSignal;
}

const WAITED_PHASES = PHASES_BEFORE_ACCEPTANCE.filter((phase) => phase !== 'review');

export function isBeforeAcceptance(task: Pick<Task, 'phase'>): boolean {
  return PHASES_BEFORE_ACCEPTANCE.some((phase) => phase === task.phase);
}

/** Whether a create goes on waiting. It doesn't wait for a review, which takes hours. */
function isUndecided({ phase }: Pick<Task, 'phase'>): boolean {
  return WAITED_PHASES.some((waited) => waited === phase);
}

export function hasEnded({ phase }: Pick<Task, 'phase'>): boolean {
  return phase === 'completed' || phase === 'failed';
}

// Requests may wait for thousands of tasks; only those with news become rows.
const READ = statement(
  'task_read_waited',
  `select ${TASK_COLUMNS} from tasks where id = any($1)
     and phase not in (${WAITED_PHASES.map((phase) => `'${phase}'`).join(', ')})
   union all
   select ${TASK_COLUMNS} from tasks where id = any($2) and phase in ('completed', 'failed')`,
);

type Kind = 'create' | 'read';

interface Waiter {
  kind: Kind;
  taskId: string;
  resolve(outcome: Task | 'stopped'): void;
}

export type Waiting = ReturnType<typeof createWaiting>;

/** Waiting requests hold no database connection: one query per tick reads the tasks of all. */
export function createWaiting(deps: { db: Database; log: Log }) {
  const waiters = new Set<Waiter>();
  const slots = openSlots();
  const stop = new AbortController();
  let ticking = false;
  let readsDueAt = 0;

  const idsOf = (kind: Kind) => [
    ...new Set([...waiters].filter((waiter) => waiter.kind === kind).map(({ taskId }) => taskId)),
  ];
  const tick = async () => {
    const reads = idsOf('read');
    const areReadsDue = reads.length <= FEW_READS || performance.now() >= readsDueAt;
    if (areReadsDue) readsDueAt = performance.now() + MANY_TICK_SECONDS * 1000;
    const ids = [idsOf('create'), areReadsDue ? reads : []];
    if (ids.every(({ length }) => length === 0)) return;
    const rows = await deps.db.query<Task>(READ, ids);
    resolveWaiters(rows);
  };
  const resolveWaiters = (tasks: Task[]) => {
    const news = new Map(tasks.map((task) => [task.id, task]));
    for (const { kind, taskId, resolve } of waiters) {
      const task = news.get(taskId);
      if (task && (kind === 'create' ? !isUndecided(task) : hasEnded(task))) resolve(task);
    }
  };
  const tickWhileWaiting = async () => {
    if (ticking) return;
    ticking = true;
    while (waiters.size > 0) {
      await delay(TICK_SECONDS * 1000);
      await tick().catch(async (error: Error) => {
        deps.log.warn({ err: error.message }, 'the tasks of waiting requests could not be read');
        await delay(PAUSE_SECONDS * 1000);
      });
    }
    ticking = false;
  };
  const wait = async (kind: Kind, taskId: string, seconds: number, signal?: AbortSignal) => {
    const { promise, resolve } = Promise.withResolvers<Task | 'timeout' | 'stopped' | 'gone'>();
    const timer = setTimeout(resolve, seconds * 1000, 'timeout' as const);
    const leave = () => resolve('gone');
    const waiter = { kind, taskId, resolve };
    signal?.addEventListener('abort', leave);
    waiters.add(waiter);
    void tickWhileWaiting();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
      waiters.delete(waiter);
    }
  };
  return {
    /**
     * Waits until the task is accepted, failed, held or in review.
     * @returns the task as it was then; undefined on timeout or `stop`
     */
    async untilDecided(taskId: string, seconds: number): Promise<Task | undefined> {
      if (stop.signal.aborted || seconds === 0) return undefined;
      const outcome = await wait('create', taskId, seconds);
      return typeof outcome === 'string' ? undefined : outcome;
    },
    /**
     * Waits until the task has ended.
     * @returns the ended task, or why the wait ended; undefined if no slot was free
     */
    untilEnded({ taskId, seconds, keyId, signal }: WaitingRead) {
      if (stop.signal.aborted || signal.aborted || !slots.take(keyId)) return undefined;
      return wait('read', taskId, seconds, signal).finally(() => slots.free(keyId));
    },
    /** Tells this process's waiting requests about a moved task, after the commit; saves a poll. */
    tell: (task: Task) => resolveWaiters([task]),
    /** Aborted by `stop`, for requests that wait for something else. */
    stopping: stop.signal,
    stop() {
      stop.abort();
      for (const { resolve } of waiters) resolve('stopped');
    },
  };
}

function openSlots() {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    take(keyId: string): boolean {
      const takenByKey = taken.get(keyId) ?? 0;
      if (all >= SLOTS.all || takenByKey >= SLOTS.perKey) return false;
      all += 1;
      taken.set(keyId, takenByKey + 1);
      return true;
    },
    free(keyId: string): void {
      const takenByKey = (taken.get(keyId) ?? 1) - 1;
      all -= 1;
      if (takenByKey === 0) taken.delete(keyId);
      else taken.set(keyId, takenByKey);
    },
  };
}

/** The Retry-After unless the provider asked for another. */
const RETRY_AFTER_SECONDS = 5;

/** The waiting POST's error when a task fails before acceptance (C1). */
const REFUSALS: Partial<Record<FailureCode, 'invalid_request' | 'service_busy'>> = {
  invalid_media: 'invalid_request',
  content_refused: 'invalid_request',
  invalid_request: 'invalid_request',
  not_accepted: 'service_busy',
  provider_unavailable: 'service_busy',
};

/**
 * Waits for the outcome of a new task's acceptance and decides the response to the POST (C1).
 * @returns the task, for 202: it was accepted, is still in progress after the wait, or was
 *   cancelled before its acceptance
 * @throws ApiError `invalid_request` or `service_busy`, with `task_id` and, if certain, `credits`
 *   in its details
 */
export async function awaitResponse(
  deps: { db: Database; waiting: Pick<Waiting, 'untilDecided'>; createWaitSeconds: number },
  created: Task,
): Promise<Task> {
  try {
    const decided = await deps.waiting.untilDecided(created.id, deps.createWaitSeconds);
    const task = decided ?? (await announceOrRead(deps.db, created));
    return responseFor(await announceWaiting(deps.db, task));
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    throw unreadableTask(created, cause);
  }
}

/**
 * The details don't say that the credits of an unannounced task are held: it may have failed
 * meanwhile, been refunded, and released its Idempotency-Key.
 */
function unreadableTask(created: Task, cause: unknown): ApiError {
  if (created.announced_at !== null) return busy(created, 'held', { cause });
  const message = 'Temporarily unavailable. Send the request again with the same Idempotency-Key.';
  const details = { task_id: created.id };
  return new ApiError('service_busy', message, { cause, details, retryAfterSeconds: 1 });
}

async function announceOrRead(db: Database, created: Task): Promise<Task> {
  if (created.announced_at !== null) return created;
  return (await announce(db, created.id)) ?? readTask(db, created.id);
}

/** A task that is held or in review may wait for hours: its client relies on the response. */
async function announceWaiting(db: Database, task: Task): Promise<Task> {
  if ((task.phase !== 'held' && task.phase !== 'review') || task.announced_at !== null) return task;
  return announceOrRead(db, task);
}

/**
 * Exported for tests.
 * @throws ApiError see {@link awaitResponse}
 */
export function responseFor(task: Task): Task {
  if (task.phase === 'held' && task.held_cause === 'acceptance') throw busy(task, 'held');
  if (task.accepted_at !== null) return task; // even if it has failed since
  const code = task.error_code === null ? undefined : REFUSALS[task.error_code];
  if (code === undefined) return task;
  if (code === 'service_busy') throw busy(task, 'refunded');
  const details = { reason: task.error_code, ...task.error_details };
  throw new ApiError(code, task.error_message ?? 'The request was refused.', {
    details: { ...details, task_id: task.id, credits: 'refunded' },
  });
}

function busy(task: Task, credits: 'held' | 'refunded', options: { cause?: unknown } = {}) {
  const message =
    credits === 'held'
      ? 'It is not known yet if a provider accepted the task. Retry with the same Idempotency-Key.'
      : 'The task could not be started for now. Retry with the same Idempotency-Key.';
  const asked = task.error_details?.retry_after_seconds; // by a busy provider
  return new ApiError('service_busy', message, {
    ...options,
    details: { task_id: task.id, credits },
    retryAfterSeconds: typeof asked === 'number' ? asked : RETRY_AFTER_SECONDS,
  });
}
