import type { Log } from '../kernel/log.ts';
import type { Task } from '../tasks/task.ts';
import { report, secondsSince } from '../telemetry/reports.ts';

/** A bounded set of tasks that this process works on at once. */
export type Pool = ReturnType<typeof createPool>;

interface PoolOptions {
  name: string;
  slots: number;
  log: Log;
  stopping: AbortSignal;
  claim(slots: number): Promise<Task[]>;
  /** Works on a leased task. Must not throw. */
  work(task: Task): Promise<void>;
  monotonic?(): number;
}

/** A task is handed over by another pool only if it is likely to start within this time. */
const MAX_WAIT_SECONDS = 1;

export function createPool(options: PoolOptions) {
  const { name, slots, log, stopping, claim, work } = options;
  const inProgress = new Set<Promise<void>>();
  /** Leased tasks waiting for a slot, handed over by another pool of this process. */
  const waiting: Task[] = [];
  /** The slots that a claim under way may fill. */
  let claiming = 0;
  let filling: Promise<void> | undefined;
  let isAskedAgain = false;
  /** Whether more tasks may be due than there were slots for. */
  let mayHaveMore = false;
  /** Whether the last free slot went to a claim: claimed and waiting tasks alternate. */
  let wasClaimed = false;
  const speed = trackSpeed(slots, options.monotonic);

  const hasSlot = () => inProgress.size + claiming < slots;
  const start = (task: Task) => {
    report('slot', { pool: name, change: 1, slots });
    const working = work(task).finally(() => {
      inProgress.delete(working);
      speed.ended();
      report('slot', { pool: name, change: -1, slots });
      fillFreeSlot();
    });
    inProgress.add(working);
  };
  const startWaiting = () => {
    while (waiting.length > 0 && (hasSlot() || stopping.aborted)) start(waiting.shift() as Task);
  };
  const fillFreeSlot = () => {
    wasClaimed = mayHaveMore && (waiting.length === 0 || !wasClaimed);
    if (wasClaimed) void fill();
    else startWaiting();
  };
  const claimOnce = async () => {
    if (stopping.aborted) return;
    mayHaveMore ||= !hasSlot();
    if (!hasSlot()) return;
    const free = slots - inProgress.size;
    claiming = free;
    const startedAt = performance.now();
    try {
      const tasks = await claim(free);
      report('claim', { pool: name, tasks: tasks.length, seconds: secondsSince(startedAt) });
      mayHaveMore = tasks.length === free;
      for (const task of tasks) start(task);
    } finally {
      claiming = 0;
      startWaiting();
    }
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
  // `work` releases a task that it gets while the process stops.
  stopping.addEventListener('abort', startWaiting);
  return {
    /**
     * Claims due tasks for the free slots, or as soon as one is free. Calls during a claim share
     * the next one.
     */
    fill,
    /**
     * Starts a leased task, or queues it for a slot. Queued and due tasks alternate.
     * @returns false when as many tasks are queued as the pool has slots and one more would wait
     *   for over a second: another process may be faster
     */
    take(task: Task): boolean {
      if (stopping.aborted) return false;
      if (waiting.length === 0 && hasSlot()) start(task);
      else if (waiting.length < slots || speed.isSoon(waiting.length)) waiting.push(task);
      else return false;
      return true;
    },
    /** Waits for a claim under way, then for all tasks. */
    async finish() {
      await filling;
      while (inProgress.size > 0) await Promise.all(inProgress);
    },
  };
}

/** Tracks when the last tasks ended: as many of them as the pool has slots. */
function trackSpeed(slots: number, monotonic = () => performance.now()) {
  const ends: number[] = [];
  return {
    ended() {
      ends.push(monotonic());
      if (ends.length > slots) ends.shift();
    },
    /** Whether this many queued tasks start within {@link MAX_WAIT_SECONDS} at this speed. */
    isSoon(tasks: number): boolean {
      const [oldest] = ends;
      if (oldest === undefined || ends.length < slots) return false;
      return (monotonic() - oldest) * tasks < MAX_WAIT_SECONDS * 1000 * slots;
    },
  };
}
