import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../database/database.ts';
import type { Log } from '../../kernel/log.ts';
import { PHASES_BEFORE_ACCEPTANCE, readTasks, type Task } from '../task.ts';

/** How often the tasks of waiting requests are read: one query per tick for all of them. */
const TICK_SECONDS = 0.03;
/** The pause after a failed read. */
const PAUSE_SECONDS = 0.5;

/** The requests of this process that wait for the outcome of their task's acceptance. */
export interface Waiting {
  /**
   * Waits until the task was accepted, has failed or is held. The wait uses no database connection
   * of its own.
   * @returns the task as it was then; undefined when the time is over or `stop` was called
   */
  outcome(taskId: string, seconds: number): Promise<Task | undefined>;
  /** Ends all waits with undefined; later waits end at once with undefined. */
  stop(): void;
}

/** Whether the task is neither accepted nor failed nor held yet. */
export function isBeforeAcceptance(task: Pick<Task, 'phase'>): boolean {
  return PHASES_BEFORE_ACCEPTANCE.some((phase) => phase === task.phase);
}

export function createWaiting(deps: { db: Database; log: Log }): Waiting {
  const waiters = new Map<string, (task: Task | undefined) => void>();
  let stopped = false;
  let ticking = false;

  const tick = async () => {
    const tasks = await readTasks(deps.db, [...waiters.keys()]);
    for (const task of tasks) {
      if (!isBeforeAcceptance(task)) waiters.get(task.id)?.(task);
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
  return {
    async outcome(taskId, seconds) {
      if (stopped || seconds === 0) return undefined;
      const { promise, resolve } = Promise.withResolvers<Task | undefined>();
      const timer = setTimeout(resolve, seconds * 1000, undefined);
      waiters.set(taskId, resolve);
      void tickWhileWaiting();
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        waiters.delete(taskId);
      }
    },
    stop() {
      stopped = true;
      for (const resolve of waiters.values()) resolve(undefined);
    },
  };
}
