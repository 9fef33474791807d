/** How long this process has known of attempts that are uncertain, by a clock that never jumps. */
export interface Watch {
  /** Seconds since the first time it was asked about the attempt: 0 at first. */
  secondsSince(attemptId: string): number;
}

/** Attempts that are watched at a time; the longest watched are forgotten, and begin anew. */
const MAX_WATCHED = 10_000;

/** @param monotonic milliseconds of this process */
export function createWatch(monotonic: () => number): Watch {
  const since = new Map<string, number>();
  return {
    secondsSince(attemptId) {
      const now = monotonic();
      const first = since.get(attemptId) ?? now;
      since.set(attemptId, first);
      const [oldest] = since.keys();
      if (since.size > MAX_WATCHED && oldest !== undefined) since.delete(oldest);
      return (now - first) / 1000;
    },
  };
}
