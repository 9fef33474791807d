import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../database/database.ts';
import type { Log } from '../../kernel/log.ts';
import { readTasks, type Task } from '../task.ts';

/** How often the waiting tasks are looked at: one query a tick, however many wait. */
const TICK_SECONDS = 0.03;

/** Requests of this process that wait for what becomes of their task. */
export interface Waiting {
  /**
   * Waits until the task is past acceptance, one way or the other. No database connection is held.
   * @returns the task as it then was; undefined when the time is over or the service is stopping
   */
  outcome(taskId: string, seconds: number): Promise<Task | undefined>;
  /** Ends all waits, and those to come, with undefined. */
  stop(): void;
}

/** Whether it is still open if the provider takes the task. */
export function isBeforeAcceptance(task: Pick<Task, 'phase'>): boolean {
  return ['reserved', 'ingesting', 'submitting'].includes(task.phase);
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
      await tick().catch((error: Error) => {
        deps.log.warn({ err: error.message }, 'waiting requests could not look at their tasks');
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
