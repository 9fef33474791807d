/** The keys that a provider signs its callbacks with. */
export interface SigningKeys<Key> {
  /**
   * Whether one of the keys passes the check. Keys are asked for anew when they are too old, and
   * when none passes and they are not fresh: the provider may have changed them.
   * @throws whatever asking for the keys throws
   */
  some(check: (key: Key) => boolean): Promise<boolean>;
}

/** Forged callbacks can't make us ask for the keys more often than this. */
const FRESH_SECONDS = 300;

export function createSigningKeys<Key>(options: {
  ask(): Promise<Key[]>;
  /** Milliseconds since 1970. */
  now(): number;
  maxAgeSeconds: number;
}): SigningKeys<Key> {
  let known: { keys: Key[]; askedAt: number } | undefined;
  const notOlderThan = async (seconds: number) => {
    const askedAt = options.now();
    if (!known || askedAt - known.askedAt > seconds * 1000) {
      known = { keys: await options.ask(), askedAt };
    }
    return known.keys;
  };
  return {
    async some(check) {
      if ((await notOlderThan(options.maxAgeSeconds)).some(check)) return true;
      return (await notOlderThan(FRESH_SECONDS)).some(check);
    },
  };
}

/** Whether a callback was signed at most 5 minutes from now, by the provider's clock. */
export function signedRecently(timestampSeconds: string, now: number): boolean {
  const distanceMs = Math.abs(Number(timestampSeconds) * 1000 - now);
  return /^\d+$/.test(timestampSeconds) && distanceMs <= 300_000;
}
