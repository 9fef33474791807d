import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import { PHASES_BEFORE_ACCEPTANCE, TASK_COLUMNS, type Task } from './task.ts';

/** Poll interval for the tasks of waiting creates, and of waiting reads while these are few. */
const TICK_SECONDS = 0.03;
/** With more waiting reads than this, their tasks are polled less often. */
const FEW_READS = 100;
const MANY_TICK_SECONDS = 0.1;
/** The pause after a failed read. */
const PAUSE_SECONDS = 0.5;

/**
 * How many reads may wait at once, per API key and per process. A key may send 30 requests a
 * minute.
 */
const PLACES = { ofKey: 20, all: 4000 };

/** A read that waits for a task to end. */
interface WaitingRead {
  taskId: string;
  seconds: number;
  keyId: string;
  /** Aborts when the client has gone. */
  signal: AbortSignal;
}

/** Whether the task is neither accepted nor failed nor held yet. */
export function isBeforeAcceptance(task: Pick<Task, 'phase'>): boolean {
  return PHASES_BEFORE_ACCEPTANCE.some((phase) => phase === task.phase);
}

/** Whether the task is completed or failed. */
export function hasEnded({ phase }: Pick<Task, 'phase'>): boolean {
  return phase === 'completed' || phase === 'failed';
}

// Requests may wait for thousands of tasks; only those with news become rows.
const READ = statement(
  'task_read_waited',
  `select ${TASK_COLUMNS} from tasks where id = any($1)
     and phase not in (${PHASES_BEFORE_ACCEPTANCE.map((phase) => `'${phase}'`).join(', ')})
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

/**
 * The requests of this process that wait for a task. They hold no database connection: one query
 * per tick reads the tasks of all.
 */
export function createWaiting(deps: { db: Database; log: Log }) {
  const waiters = new Set<Waiter>();
  const places = openPlaces();
  const stop = new AbortController();
  let ticking = false;
  let readsAt = 0;

  const idsOf = (kind: Kind) => [
    ...new Set([...waiters].filter((one) => one.kind === kind).map(({ taskId }) => taskId)),
  ];
  const tick = async () => {
    const reads = idsOf('read');
    const areReadsDue = reads.length <= FEW_READS || performance.now() >= readsAt;
    if (areReadsDue) readsAt = performance.now() + MANY_TICK_SECONDS * 1000;
    const ids = [idsOf('create'), areReadsDue ? reads : []];
    if (ids.every(({ length }) => length === 0)) return;
    const rows = await deps.db.query<Task>(READ, ids);
    tell(rows);
  };
  const tell = (tasks: Task[]) => {
    const news = new Map(tasks.map((task) => [task.id, task]));
    for (const { kind, taskId, resolve } of waiters) {
      const task = news.get(taskId);
      if (task && (kind === 'create' ? !isBeforeAcceptance(task) : hasEnded(task))) resolve(task);
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
    const { promise, resolve } = Promise.withResolvers<Task | 'over' | 'stopped' | 'gone'>();
    const timer = setTimeout(resolve, seconds * 1000, 'over' as const);
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
     * Waits until the task is accepted, failed or held.
     * @returns the task as it was then; undefined on timeout or `stop`
     */
    async outcome(taskId: string, seconds: number): Promise<Task | undefined> {
      if (stop.signal.aborted || seconds === 0) return undefined;
      const outcome = await wait('create', taskId, seconds);
      return typeof outcome === 'string' ? undefined : outcome;
    },
    /**
     * Waits until the task has ended.
     * @returns the ended task, or why the wait ended; undefined if no place was free
     */
    end({ taskId, seconds, keyId, signal }: WaitingRead) {
      if (stop.signal.aborted || signal.aborted || !places.take(keyId)) return undefined;
      return wait('read', taskId, seconds, signal).finally(() => places.free(keyId));
    },
    /**
     * Tells this process's waiting requests about a moved task, to spare them the next poll. Call
     * it after the commit.
     */
    moved: (task: Task) => tell([task]),
    /** Aborted by `stop`, for requests that wait for something else. */
    stopping: stop.signal,
    /** Ends all waits; later ones end at once. */
    stop() {
      stop.abort();
      for (const { resolve } of waiters) resolve('stopped');
    },
  };
}

/** The places for waiting reads. */
function openPlaces() {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    take(keyId: string): boolean {
      const ofKey = taken.get(keyId) ?? 0;
      if (all >= PLACES.all || ofKey >= PLACES.ofKey) return false;
      all += 1;
      taken.set(keyId, ofKey + 1);
      return true;
    },
    free(keyId: string): void {
      const ofKey = (taken.get(keyId) ?? 1) - 1;
      all -= 1;
      if (ofKey === 0) taken.delete(keyId);
      else taken.set(keyId, ofKey);
    },
  };
}
