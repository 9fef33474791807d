import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../kernel/log.ts';

export interface StopRequest {
  /** Resolves with the exit code when the process shall end. */
  requested: Promise<number>;
  request(code: number): void;
  /** Says that the start is over: from now on, the process shuts down in order. */
  started(): void;
}

/** One Ctrl-C of `npm start` is two signals: the terminal and npm each send one. */
const SAME_REQUEST_SECONDS = 1;
/** After this time a start that was asked to stop ends at once. It may wait for a lock. */
const START_SECONDS = 3;

/**
 * The first SIGINT or SIGTERM drains and shuts down. One that comes more than a second later ends
 * the process at once.
 */
export function stopRequest(log: Log): StopRequest {
  let askedAt: number | undefined;
  return stopAtSignals(log, () => {
    askedAt ??= performance.now();
    if (performance.now() - askedAt <= SAME_REQUEST_SECONDS * 1000) return;
    log.warn('second signal: exiting at once');
    process.exit(130);
  });
}

/**
 * For a process that another one has started. A terminal and a service manager signal both, and the
 * other one signals this one too, so a second signal says nothing.
 */
export function stopRequestOfOne(log: Log): StopRequest {
  return stopAtSignals(log, () => {});
}

function stopAtSignals(log: Log, signalled: () => void): StopRequest {
  const { promise, resolve } = Promise.withResolvers<number>();
  let hasStarted = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      resolve(0);
      signalled();
    });
  }
  void promise.then(async (code) => {
    if (hasStarted) return;
    await delay(START_SECONDS * 1000, undefined, { ref: false });
    if (hasStarted) return;
    log.warn('asked to stop, but the start still waits: exiting at once');
    process.exit(code);
  });
  const started = () => {
    hasStarted = true;
  };
  return { requested: promise, request: resolve, started };
}
