import type { Log } from '../kernel/log.ts';

export interface StopRequest {
  /** Resolves with the exit code when the process shall end. */
  requested: Promise<number>;
  request(code: number): void;
}

/** One Ctrl-C of `npm start` is two signals: the terminal and npm each send one. */
const SAME_REQUEST_SECONDS = 1;

/**
 * The first SIGINT or SIGTERM drains and shuts down. One that comes more than a second later ends
 * the process at once.
 */
export function stopRequest(log: Log): StopRequest {
  const { promise, resolve } = Promise.withResolvers<number>();
  let askedAt: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      askedAt ??= performance.now();
      resolve(0);
      if (performance.now() - askedAt <= SAME_REQUEST_SECONDS * 1000) return;
      log.warn('second signal: exiting at once');
      process.exit(130);
    });
  }
  return { requested: promise, request: resolve };
}

/**
 * For a process that another one has started. A terminal and a service manager signal both, and the
 * other one signals this one too, so a second signal says nothing.
 */
export function stopRequestOfOne(): StopRequest {
  const { promise, resolve } = Promise.withResolvers<number>();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve(0));
  return { requested: promise, request: resolve };
}
