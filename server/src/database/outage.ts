import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../kernel/log.ts';

/** How often the server is tried during an outage. */
const TRY_SECONDS = 0.25;

/**
 * Whether the server responds. During an outage nothing waits for it: work fails at once, and one
 * connection at a time tries the server until it responds again.
 */
export interface DatabaseOutage {
  /** Tries the server, because a connection failed or a response did not come. */
  suspect(): void;
  /** @throws the cause of the outage, if there is one */
  check(): void;
  /** Waits for the work, but not into an outage. @throws the cause of an outage that begins */
  orBegins<T>(work: Promise<T>): Promise<T>;
  close(): void;
}

/** @param attempt opens a new connection, runs a statement and closes the connection */
export function watchForOutage(deps: { attempt(): Promise<void>; log: Log }): DatabaseOutage {
  const { attempt, log } = deps;
  const waiting = new Set<(cause: unknown) => void>();
  let cause: unknown;
  let isTrying = false;
  let isClosed = false;

  const begin = (failure: unknown) => {
    if (cause === undefined) log.error({ err: textOf(failure) }, 'the database does not respond');
    cause = failure;
    for (const reject of waiting) reject(failure);
    waiting.clear();
  };
  const tryUntilItResponds = async () => {
    const startedAt = performance.now();
    while (!isClosed) {
      const failure = await attempt().then(
        () => undefined,
        (error: unknown) => error ?? new Error('the database does not respond'),
      );
      if (failure === undefined) break;
      begin(failure);
      await delay(TRY_SECONDS * 1000, undefined, { ref: false });
    }
    if (cause === undefined) return;
    cause = undefined;
    const seconds = (performance.now() - startedAt) / 1000;
    if (!isClosed) log.info({ seconds }, 'the database responds again');
  };
  return {
    suspect() {
      if (isTrying || isClosed) return;
      isTrying = true;
      void tryUntilItResponds().finally(() => {
        isTrying = false;
      });
    },
    check() {
      if (cause !== undefined) throw cause;
    },
    orBegins: (work) =>
      new Promise((resolve, reject) => {
        waiting.add(reject);
        work.then(resolve, reject).finally(() => waiting.delete(reject));
      }),
    close() {
      isClosed = true;
    },
  };
}

function textOf(failure: unknown): string {
  return failure instanceof Error ? failure.message || failure.name : String(failure);
}
