import { report, secondsSince } from '../telemetry/reports.ts';
import type { Log } from './log.ts';

/**
 * Jobs run at multiples of this time and so wake the process together, which saves an idle process
 * a quarter of its CPU time. Shorter intervals are not aligned.
 */
const GRID_SECONDS = 0.5;

/** Milliseconds from `now` until the last multiple that is at most `seconds` away. */
function msUntilTick(seconds: number, now = performance.now()): number {
  if (seconds < GRID_SECONDS) return seconds * 1000;
  const grid = GRID_SECONDS * 1000;
  return Math.floor((now + seconds * 1000) / grid) * grid - now;
}

/**
 * Runs `work` at once and again about `seconds` after each run ended, also after a failed one,
 * until the signal aborts.
 * @returns a function that makes the next run begin now, or right after the run under way
 */
export function startInterval(
  seconds: number,
  options: { name: string; log: Log; signal: AbortSignal },
  work: () => Promise<unknown>,
): () => void {
  const { name, log, signal } = options;
  let isRunRequested = false;
  let wake = () => {};
  const pause = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, msUntilTick(seconds));
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const runNow = () => {
    isRunRequested = true;
    wake();
  };
  signal.addEventListener('abort', runNow, { once: true });
  const run = async () => {
    while (!signal.aborted) {
      isRunRequested = false;
      const startedAt = performance.now();
      const result = await work().then(
        () => 'done' as const,
        (error: Error) => {
          if (!signal.aborted)
            log.warn({ err: error.message }, `${name} failed; next run in ${seconds} s`);
          return 'failed' as const;
        },
      );
      report('periodic', { work: name, result, seconds: secondsSince(startedAt) });
      if (!isRunRequested) await pause();
    }
  };
  void run();
  return runNow;
}
