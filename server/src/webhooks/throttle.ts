import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { type EndpointSlot, type LeasedEndpoint, SLOW_MS } from './claim.ts';

/**
 * Deliveries that a process starts per second, and how many an endpoint gets at once. Each takes 1
 * to 3 ms of CPU time from the tasks, and more on a saturated machine.
 */
const USUAL = { perSecond: 100, atOnce: 8 };
const BUSY = { perSecond: 20, atOnce: 2 };
/** A process whose event loop is utilized more than this is busy. */
const BUSY_SHARE = 0.6;
const WINDOW_MS = 500;
/** With a longer queue than this, no more endpoints are claimed, and turns end early. */
const LONG_WAIT_MS = 1000;

/**
 * Limits how fast a process starts deliveries, first come, first served. Without it, a backlog for
 * fast endpoints takes all CPU time of a process, and its tasks wait.
 * @param isBusy whether the event loop has little time left
 */
export function createThrottle(isBusy = watchLoop()) {
  const limits = () => (isBusy() ? BUSY : USUAL);
  /** When the next delivery may begin. */
  let nextMs = 0;
  const waitMs = () => Math.max(0, nextMs - performance.now());
  return {
    atOnce: () => limits().atOnce,
    /** Waits until the deliveries may begin. */
    async begin(deliveries: number, signal: AbortSignal): Promise<void> {
      const wait = waitMs();
      nextMs = performance.now() + wait + (deliveries * 1000) / limits().perSecond;
      if (wait > 0) await delay(wait, undefined, { signal }).catch(() => {});
    },
    isBehind: () => waitMs() > LONG_WAIT_MS,
  };
}

/** @returns whether the event loop of this process was busy in the last window */
function watchLoop(): () => boolean {
  let windowStart = performance.eventLoopUtilization();
  let isBusy = false;
  return () => {
    const { idle, active, utilization } = performance.eventLoopUtilization(windowStart);
    if (idle + active < WINDOW_MS) return isBusy;
    isBusy = utilization > BUSY_SHARE;
    windowStart = performance.eventLoopUtilization();
    return isBusy;
  };
}

/** How many endpoints of each kind a process delivers to at once. */
const SLOTS: Record<EndpointSlot, number> = { sound: 32, slow: 32, failing: 16 };
/**
 * How many slow slots may be taken in all: those claimed (`SLOTS.slow`), and those that long turns
 * moved to.
 */
const MAX_SLOW = 64;

/**
 * A long turn at a sound endpoint moves to a slow slot if one is free, so that an endpoint that is
 * slow for the first time stops delaying the others.
 */
export function openDeliverySlots() {
  const taken: Record<EndpointSlot, Map<string, number>> = {
    sound: new Map(),
    slow: new Map(),
    failing: new Map(),
  };
  const moveLong = () => {
    for (const [id, since] of taken.sound) {
      if (performance.now() - since < SLOW_MS || taken.slow.size >= MAX_SLOW) break;
      taken.sound.delete(id);
      taken.slow.set(id, since);
    }
  };
  const left = (slot: EndpointSlot) => Math.max(0, SLOTS[slot] - taken[slot].size);
  return {
    free(): Record<EndpointSlot, number> {
      moveLong();
      return { sound: left('sound'), slow: left('slow'), failing: left('failing') };
    },
    /** @returns a function that frees the slot, even if the turn has moved to a slow one */
    take({ id, slot }: LeasedEndpoint): () => void {
      taken[slot].set(id, performance.now());
      return () => {
        for (const slots of Object.values(taken)) slots.delete(id);
      };
    },
  };
}
