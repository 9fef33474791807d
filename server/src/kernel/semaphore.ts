/** Limits how many pieces of work run at a time; the others wait in order of arrival. */
export interface Semaphore {
  /**
   * Runs `work` as soon as a permit is free.
   * @throws the signal's reason when it aborts before `work` has started
   */
  run<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
}

/** @param permits how many pieces of work may run at a time */
export function createSemaphore(permits: number): Semaphore {
  let free = permits;
  const waiting = new Set<() => void>();
  const acquire = (signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      const take = () => {
        waiting.delete(take);
        signal?.removeEventListener('abort', giveUp);
        free -= 1;
        resolve();
      };
      const giveUp = () => {
        waiting.delete(take);
        reject(signal?.reason);
      };
      if (free > 0) return take();
      waiting.add(take);
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  return {
    async run(signal, work) {
      signal?.throwIfAborted();
      await acquire(signal);
      try {
        return await work();
      } finally {
        free += 1;
        const [next] = waiting;
        next?.();
      }
    },
  };
}
