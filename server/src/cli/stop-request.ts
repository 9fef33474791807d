import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../kernel/log.ts';

export interface StopRequest {
  /** Resolves with the exit code when the process should end. */
  requested: Promise<number>;
  request(code: number): void;
  /** Marks the start as complete: from now on, a stop is graceful. */
  markStarted(): void;
}

/** Signals this close are one request: at a Ctrl-C, the terminal and npm each send one. */
const SAME_REQUEST_SECONDS = 1;
/** A start that was asked to stop, perhaps while waiting for a lock, exits after this time. */
const START_SECONDS = 3;

/**
 * The first signal drains and shuts down; another one more than a second later exits at once. A
 * child process ignores further signals: terminals, service managers and the supervisor may each
 * send one.
 */
export function stopRequest(log: Log, { isChild = false } = {}): StopRequest {
  const { promise, resolve } = Promise.withResolvers<number>();
  let askedAt: number | undefined;
  let hasStarted = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      resolve(0);
      askedAt ??= performance.now();
      if (isChild || performance.now() - askedAt <= SAME_REQUEST_SECONDS * 1000) return;
      log.warn('second signal: exiting at once');
      process.exit(130);
    });
  }
  void promise.then(async (code) => {
    if (hasStarted) return;
    await delay(START_SECONDS * 1000, undefined, { ref: false });
    if (hasStarted) return;
    log.warn('asked to stop during the start: exiting at once');
    process.exit(code);
  });
  const markStarted = () => {
    hasStarted = true;
  };
  return { requested: promise, request: resolve, markStarted };
}
