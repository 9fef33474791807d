import { setTimeout as delay } from 'node:timers/promises';
import { report, secondsSince } from '../telemetry/reports.ts';
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
      const startedAt = performance.now();
      const result = await work().then(
        () => 'done' as const,
        (error: Error) => {
          if (!signal.aborted)
            log.warn({ err: error.message }, `${name} failed; it runs again in ${seconds} s`);
          return 'failed' as const;
        },
      );
      report('periodic', { work: name, result, seconds: secondsSince(startedAt) });
      await delay(seconds * 1000, undefined, { signal }).catch(() => {});
    }
  };
  void run();
}
