/** Lets at most so many pieces of work run at a time; the others wait in order of arrival. */
export interface Semaphore {
  /** @throws the signal's reason when it is aborted while waiting */
  run<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
}

export function createSemaphore(places: number): Semaphore {
  let free = places;
  const waiting = new Set<() => void>();
  const enter = (signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      const admit = () => {
        waiting.delete(admit);
        signal?.removeEventListener('abort', leave);
        free -= 1;
        resolve();
      };
      const leave = () => {
        waiting.delete(admit);
        reject(signal?.reason);
      };
      if (free > 0) return admit();
      waiting.add(admit);
      signal?.addEventListener('abort', leave, { once: true });
    });
  return {
    async run(signal, work) {
      signal?.throwIfAborted();
      await enter(signal);
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
