import type { Log } from '../kernel/log.ts';
import { report, secondsSince } from '../telemetry/reports.ts';
import type { Task } from './task.ts';

/** A bounded set of tasks that this process works on at once. */
export type Pool = ReturnType<typeof createPool>;

interface PoolOptions {
  name: string;
  places: number;
  log: Log;
  /** When it aborts, nothing more is claimed. */
  stopping: AbortSignal;
  /** Leases at most so many tasks. */
  claim(places: number): Promise<Task[]>;
  /** Works on a leased task. Must not throw. */
  work(task: Task): Promise<void>;
}

export function createPool(options: PoolOptions) {
  const { name, places, log, stopping, claim, work } = options;
  const inProgress = new Set<Promise<void>>();
  let filling: Promise<void> | undefined;
  let isAskedAgain = false;
  /** Whether there was no place for more tasks, which may be due. */
  let mayHaveMore = false;

  const start = (task: Task) => {
    report('place', { pool: name, change: 1, places });
    const working = work(task).finally(() => {
      inProgress.delete(working);
      report('place', { pool: name, change: -1, places });
      if (mayHaveMore) void fill();
    });
    inProgress.add(working);
  };
  const claimOnce = async () => {
    const free = places - inProgress.size;
    if (stopping.aborted) return;
    if (free === 0) {
      mayHaveMore = true;
      return;
    }
    const startedAt = performance.now();
    const tasks = await claim(free);
    report('claim', { pool: name, tasks: tasks.length, seconds: secondsSince(startedAt) });
    mayHaveMore = tasks.length === free;
    for (const task of tasks) start(task);
  };
  const claimWhileAsked = async () => {
    do {
      isAskedAgain = false;
      await claimOnce().catch((error: Error) => {
        if (!stopping.aborted)
          log.warn({ err: error.message, pool: name }, 'due tasks could not be claimed');
      });
    } while (isAskedAgain && !stopping.aborted);
    filling = undefined;
  };
  const fill = (): Promise<void> => {
    isAskedAgain = filling !== undefined;
    filling ??= claimWhileAsked();
    return filling;
  };
  return {
    /**
     * Claims due tasks for the free places and starts them; without a free place, as soon as there
     * is one. Calls during a claim share the next one.
     */
    fill,
    /** Works on a task that is leased already, unless no place is free. */
    take(task: Task) {
      const isFree = inProgress.size < places && !stopping.aborted;
      if (isFree) start(task);
      return isFree;
    },
    /** Resolves when a claim under way has ended, and then all tasks have. */
    async finish() {
      await filling;
      while (inProgress.size > 0) await Promise.all(inProgress);
    },
  };
}
