/** How long this process has known of attempts that are uncertain, by a clock that never jumps. */
export interface FirstSeen {
  /** Seconds since the first time it was asked about the attempt: 0 at first. */
  secondsAgo(attemptId: string): number;
}

/** Attempts that are watched at a time; the longest watched are forgotten, and begin anew. */
const MAX_ATTEMPTS = 10_000;

/** @param monotonic milliseconds of this process */
export function createFirstSeen(monotonic: () => number): FirstSeen {
  const since = new Map<string, number>();
  return {
    secondsAgo(attemptId) {
      const now = monotonic();
      const first = since.get(attemptId) ?? now;
      since.set(attemptId, first);
      const [oldest] = since.keys();
      if (since.size > MAX_ATTEMPTS && oldest !== undefined) since.delete(oldest);
      return (now - first) / 1000;
    },
  };
}
