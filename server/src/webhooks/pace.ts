import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Deliveries that a process begins in a second, and how many an endpoint gets at once. Each takes 1
 * to 3 ms of the time of all tasks, and more on a machine that has no time left.
 */
const USUAL = { perSecond: 100, atOnce: 8 };
const BUSY = { perSecond: 20, atOnce: 2 };
/** A process is busy whose event loop worked for more than this share of its time. */
const BUSY_SHARE = 0.6;
const WINDOW_MS = 500;
/** With more than this before them, no more endpoints are claimed, and turns end early. */
const LONG_WAIT_MS = 1000;

/**
 * When deliveries of a process may begin, in the order in which they ask. Without it, a backlog of
 * endpoints that respond quickly takes all the time of a process, and its tasks wait.
 */
export interface DeliveryPace {
  /** How many deliveries an endpoint may get at once. */
  atOnce(): number;
  /** Waits until so many deliveries may begin, or the signal aborts. */
  begin(deliveries: number, signal: AbortSignal): Promise<void>;
  /** Whether deliveries wait for long. */
  isBehind(): boolean;
}

/** @param isBusy whether the process has little time left */
export function createPace(isBusy = watchLoop()): DeliveryPace {
  const now = () => (isBusy() ? BUSY : USUAL);
  let nextMs = 0;
  const waitMs = () => Math.max(0, nextMs - performance.now());
  return {
    atOnce: () => now().atOnce,
    async begin(deliveries, signal) {
      const wait = waitMs();
      nextMs = performance.now() + wait + (deliveries * 1000) / now().perSecond;
      if (wait > 0) await delay(wait, undefined, { signal }).catch(() => {});
    },
    isBehind: () => waitMs() > LONG_WAIT_MS,
  };
}

/** @returns whether the event loop of this process was busy in the last window */
function watchLoop(): () => boolean {
  let begun = performance.eventLoopUtilization();
  let isBusy = false;
  return () => {
    const { idle, active, utilization } = performance.eventLoopUtilization(begun);
    if (idle + active < WINDOW_MS) return isBusy;
    isBusy = utilization > BUSY_SHARE;
    begun = performance.eventLoopUtilization();
    return isBusy;
  };
}
