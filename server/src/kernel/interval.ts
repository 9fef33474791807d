import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from './log.ts';

/**
 * Does `work` again and again, `seconds` after it last ended, until the signal aborts. A failure is
 * logged and the work goes on at its next turn.
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
        if (!signal.aborted) log.warn({ err: error.message }, `${name} failed; it goes on`);
      });
      await delay(seconds * 1000, undefined, { signal }).catch(() => {});
    }
  };
  void run();
}
