/**
 * Beyond this number the oldest attempt is forgotten; its time then starts again at 0. That only
 * delays the proof that its job is absent.
 */
const MAX_ATTEMPTS = 10_000;

export type FirstSeen = ReturnType<typeof createFirstSeen>;

/**
 * When this process first saw each attempt whose outcome is not known, by a monotonic clock. Needed
 * because the database's clock may jump.
 * @param monotonic milliseconds by a clock of this process that never goes back
 */
export function createFirstSeen(monotonic: () => number) {
  const since = new Map<string, number>();
  return {
    /** Seconds since the first call for this attempt; 0 for the first call. */
    secondsAgo(attemptId: string): number {
      const now = monotonic();
      const first = since.get(attemptId) ?? now;
      since.set(attemptId, first);
      const [oldest] = since.keys();
      if (since.size > MAX_ATTEMPTS && oldest !== undefined) since.delete(oldest);
      return (now - first) / 1000;
    },
  };
}
