import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../database/database.ts';
import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import { createSemaphore, type Semaphore } from '../kernel/semaphore.ts';
import { QUEUE_NAMES, type Queue } from '../queue/queue.ts';
import { claim, dueTasks, ownPoolOf, release, renew, type WorkerPool } from './lease.ts';
import type { Steps } from './steps/steps.ts';
import type { Task } from './task.ts';
import { LEASE_SECONDS, Superseded } from './transitions.ts';

/** How many tasks one process works on at once in each worker pool. */
const POOL_SIZES: Record<WorkerPool, number> = { task: 32, ingest: 8, held: 16, archive: 8 };
const SWEEP_SECONDS = 0.5;

/** Runs the steps of tasks. */
export interface Worker {
  start(): Promise<void>;
  /** Starts no more steps; those under way continue. */
  stopClaiming(): Promise<void>;
  /** Waits for the steps under way, for at most `seconds`. */
  stop(seconds: number): Promise<void>;
}

interface WorkerDeps {
  db: Database;
  queue: Queue;
  log: Log;
  steps: Steps;
}

/**
 * Works on tasks when the queue has a wake-up for them. A sweep every half second finds the other
 * due tasks: postponed ones, and those that a killed process had leased.
 */
export function createWorker(deps: WorkerDeps): Worker {
  const { db, queue, log, steps } = deps;
  const pools: Record<WorkerPool, Semaphore> = {
    task: createSemaphore(POOL_SIZES.task),
    ingest: createSemaphore(POOL_SIZES.ingest),
    held: createSemaphore(POOL_SIZES.held),
    archive: createSemaphore(POOL_SIZES.archive),
  };
  const inProgress = new Map<string, Promise<void>>();
  const leases = new Map<string, number>();
  const stopping = new AbortController();
  const stopped = new AbortController();

  /** Resolves when the pool begins the task: until then the queue hands over no other wake-up. */
  const startWork = (pool: WorkerPool, taskId: string): Promise<void> => {
    if (inProgress.has(taskId)) return Promise.resolve();
    const { promise, resolve: resolveStarted } = Promise.withResolvers<void>();
    let nextPool: WorkerPool | undefined;
    const work = pools[pool]
      .run(stopping.signal, async () => {
        resolveStarted();
        nextPool = await advance({ db, log, steps, leases, stopping: stopping.signal }, taskId);
      })
      .catch((error: Error) => {
        if (!stopping.signal.aborted)
          log.warn({ err: error, task: taskId }, 'work on a task failed');
      })
      .finally(() => {
        inProgress.delete(taskId);
        resolveStarted();
        if (nextPool && !stopping.signal.aborted) void startWork(nextPool, taskId);
      });
    inProgress.set(taskId, work);
    return promise;
  };
  const sweep = async () => {
    for (const task of await dueTasks(db)) void startWork(task.pool, task.id);
  };
  const renewLeases = async () => {
    if (leases.size > 0) await renew(db, leases);
  };
  return {
    async start() {
      for (const queueName of QUEUE_NAMES)
        await queue.work(queueName, (taskId) => startWork(queueName, taskId));
      startInterval(SWEEP_SECONDS, { log, name: 'sweep', signal: stopping.signal }, sweep);
      startInterval(LEASE_SECONDS / 3, { log, name: 'renew', signal: stopped.signal }, renewLeases);
      log.info('the worker has started');
    },
    async stopClaiming() {
      stopping.abort();
      await queue.stopWorking();
    },
    async stop(seconds) {
      stopping.abort(); // stopClaiming was not called if start failed
      const late = delay(seconds * 1000, undefined, { ref: false });
      await Promise.race([Promise.allSettled(inProgress.values()), late]);
      stopped.abort();
    },
  };
}

export interface AdvanceDeps {
  db: Database;
  log: Log;
  steps: Steps;
  /** The leases to renew, by task id. */
  leases: Map<string, number>;
  stopping: { readonly aborted: boolean };
}

/**
 * Leases a task and runs its steps until the task is postponed or has ended, its next step belongs
 * to another worker pool, a step fails, or the process is stopping.
 * @returns the worker pool in which the task continues, if that is another one
 */
export async function advance(deps: AdvanceDeps, taskId: string): Promise<WorkerPool | undefined> {
  const { db, leases } = deps;
  let task = await claim(db, taskId);
  if (!task) return undefined;
  const pool = ownPoolOf(task);
  leases.set(task.id, task.lease);
  try {
    while (task) {
      task = await step(deps, task);
      const own = task && ownPoolOf(task);
      if (task && (deps.stopping.aborted || (own && own !== pool))) {
        await release(db, task);
        return own;
      }
    }
  } finally {
    leases.delete(taskId);
  }
}

async function step(deps: AdvanceDeps, task: Task): Promise<Task | undefined> {
  const { log, steps } = deps;
  try {
    const next = await steps.run(task);
    if (next === 'postponed') return undefined;
    log.info({ task: next.id, phase: next.phase }, 'a task moved');
    return hasEnded(next) ? undefined : next;
  } catch (error) {
    if (error instanceof Superseded) {
      log.debug({ task: task.id, cause: error.message }, 'a step was superseded');
    } else {
      log.warn(
        { err: error, task: task.id, phase: task.phase },
        'a step failed and will be retried',
      );
      await steps.failed(task, error);
    }
    return undefined;
  }
}

function hasEnded(task: Task): boolean {
  return task.phase === 'completed' || task.phase === 'failed';
}
