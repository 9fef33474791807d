import type { Provider } from '../provider.ts';
import { jobIdIn } from './job-id.ts';
import { forged, parseJson } from './remote.ts';

/** Limits how often forged callbacks make the service fetch keys. */
const FRESH_SECONDS = 300;
/** fal allows its keys to be cached for a day at most. Replicate's change only by hand. */
const MAX_AGE_SECONDS = 86_400;

/** The keys that a provider signs its callbacks with. */
export function createSigningKeys<Key>(options: {
  fetchKeys(): Promise<Key[]>;
  /** Milliseconds since 1970. */
  now(): number;
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
      if ((await notOlderThan(MAX_AGE_SECONDS)).some(check)) return true;
      return (await notOlderThan(FRESH_SECONDS)).some(check);
    },
  };
}

type ReadCallback = NonNullable<Provider['readCallback']>;
export type Delivery = Parameters<ReadCallback>[0];

/** The signature in a delivery, and its time in seconds. */
interface Signature<Key> {
  timestamp: string;
  isBy(key: Key): boolean;
}

/**
 * Reads a provider's signed callbacks.
 * @param format.signatureIn returns why the delivery counts as forged if it can't be checked
 * @param format.idField the field of the body that has the job's id
 */
export function createCallbackReader<Key>(format: {
  fetchKeys(): Promise<Key[]>;
  now(): number;
  signatureIn(delivery: Delivery): Signature<Key> | string;
  idField: string;
}): ReadCallback {
  const { fetchKeys, now, signatureIn, idField } = format;
  const keys = createSigningKeys({ fetchKeys, now });
  return async (delivery) => {
    const signature = signatureIn(delivery);
    if (typeof signature === 'string') return forged(signature);
    if (!signedRecently(signature.timestamp, now()))
      return forged('not signed within 5 minutes of now');
    if (!(await keys.some(signature.isBy))) return forged('the signature is wrong');
    const jobId = jobIdIn(parseJson(delivery.body), idField);
    return { kind: 'report', jobId, verified: true };
  };
}

/** Whether a callback was signed within 5 minutes of now, before or after. */
export function signedRecently(timestampSeconds: string, now: number): boolean {
  const distanceMs = Math.abs(Number(timestampSeconds) * 1000 - now);
  return /^\d+$/.test(timestampSeconds) && distanceMs <= 300_000;
}
