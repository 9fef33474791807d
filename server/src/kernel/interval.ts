import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from './log.ts';

/**
 * Runs `work` at once and again `seconds` after each run ended, until the signal aborts. A failed
 * run is logged; the next one follows as usual.
 */
export function startInterval(
  seconds: number,
  options: { name: string; log: Log; signal: AbortSignal },
  work: () => Promise<unknown>,
): void {
  const { name, log, signal } = options;
  const run = async () => {
    while (!signal.aborted) {
      await work().catch((error: Error) => {
        if (!signal.aborted)
          log.warn({ err: error.message }, `${name} failed; it runs again in ${seconds} s`);
      });
      await delay(seconds * 1000, undefined, { signal }).catch(() => {});
    }
  };
  void run();
}
