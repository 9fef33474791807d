/** Limits how often forged callbacks make the service fetch keys. */
const FRESH_SECONDS = 300;

/** The keys that a provider signs its callbacks with. */
export function createSigningKeys<Key>(options: {
  fetchKeys(): Promise<Key[]>;
  /** Milliseconds since 1970. */
  now(): number;
  maxAgeSeconds: number;
}) {
  let known: { keys: Key[]; fetchedAt: number } | undefined;
  const notOlderThan = async (seconds: number) => {
    const fetchedAt = options.now();
    if (!known || fetchedAt - known.fetchedAt > seconds * 1000) {
      known = { keys: await options.fetchKeys(), fetchedAt };
    }
    return known.keys;
  };
  return {
    /**
     * Whether one of the keys passes the check. Keys are fetched again when they are too old, and
     * when no key passes and they are older than 5 minutes: the provider may have changed them.
     * @throws what `fetchKeys` throws
     */
    async some(check: (key: Key) => boolean) {
      if ((await notOlderThan(options.maxAgeSeconds)).some(check)) return true;
      return (await notOlderThan(FRESH_SECONDS)).some(check);
    },
  };
}

/**
 * Whether a callback was signed within 5 minutes of now, before or after, by the time in the
 * callback.
 */
export function signedRecently(timestampSeconds: string, now: number): boolean {
  const distanceMs = Math.abs(Number(timestampSeconds) * 1000 - now);
  return /^\d+$/.test(timestampSeconds) && distanceMs <= 300_000;
}
