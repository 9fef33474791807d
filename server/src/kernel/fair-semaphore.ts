export type Release = () => void;
type Grant = (release: Release) => void;

/**
 * Limits how many pieces of work run at a time. A permit goes to the waiting key that holds the
 * fewest; keys that hold equally many take turns, and a key's work waits in order of arrival.
 * @param permitsPerKey how many of the permits one key may hold
 */
export function createFairSemaphore(permits: number, permitsPerKey = permits) {
  let free = permits;
  const held = new Map<string, number>();
  /** A key whose work begins moves to the end, so iteration gives the keys in turn. */
  const waiting = new Map<string, Set<Grant>>();
  const heldBy = (key: string) => held.get(key) ?? 0;

  const take = (key: string): Release => {
    free -= 1;
    held.set(key, heldBy(key) + 1);
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      free += 1;
      if (heldBy(key) > 1) held.set(key, heldBy(key) - 1);
      else held.delete(key);
      grantNext();
    };
  };
  const grantNext = () => {
    const allowed = [...waiting.keys()].filter((key) => heldBy(key) < permitsPerKey);
    const [key] = allowed.sort((a, b) => heldBy(a) - heldBy(b));
    if (free === 0 || key === undefined) return;
    const [grant] = waiting.get(key) ?? [];
    if (!grant) return;
    leave(key, grant);
    const others = waiting.get(key);
    if (others) {
      waiting.delete(key);
      waiting.set(key, others);
    }
    grant(take(key));
  };
  const leave = (key: string, grant: Grant) => {
    const queue = waiting.get(key);
    queue?.delete(grant);
    if (queue?.size === 0) waiting.delete(key);
  };
  const wait = (key: string, signal: AbortSignal | undefined) =>
    new Promise<Release>((resolve, reject) => {
      const grant: Grant = (release) => {
        signal?.removeEventListener('abort', giveUp);
        resolve(release);
      };
      const giveUp = () => {
        leave(key, grant);
        reject(signal?.reason);
      };
      const queue = waiting.get(key) ?? new Set();
      waiting.set(key, queue.add(grant));
      signal?.addEventListener('abort', giveUp, { once: true });
    });
  /** Takes a permit without waiting: null if none is free for the key. */
  const tryAcquire = (key: string) => (free > 0 && heldBy(key) < permitsPerKey ? take(key) : null);
  /**
   * Waits for a permit.
   * @returns a function that releases the permit; further calls do nothing
   * @throws the signal's reason when it aborts before the permit is given
   */
  const acquire = async (key: string, signal: AbortSignal | undefined) => {
    signal?.throwIfAborted();
    return tryAcquire(key) ?? (await wait(key, signal));
  };
  return {
    tryAcquire,
    acquire,
    async run<T>(key: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
      const release = await acquire(key, signal);
      try {
        return await work();
      } finally {
        release();
      }
    },
    isAwaitedByOthers: (key: string) => [...waiting.keys()].some((other) => other !== key),
  };
}
