import type { Log } from '../kernel/log.ts';

export interface StopRequest {
  /** Resolves with the exit code when the process shall end. */
  requested: Promise<number>;
  request(code: number): void;
}

/** The first SIGINT or SIGTERM drains and shuts down; the second one ends the process at once. */
export function stopRequest(log: Log): StopRequest {
  const { promise, resolve } = Promise.withResolvers<number>();
  let asked = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (asked) {
        log.warn('second signal: exiting at once');
        process.exit(130);
      }
      asked = true;
      resolve(0);
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
