import type { Provider } from '../provider.ts';
import { jobIdIn } from './job-id.ts';
import { forged, parseJson } from './remote.ts';

/** Limits how often forged callbacks make the service fetch keys. */
const FRESH_SECONDS = 300;
/** fal allows its keys to be cached for a day at most. Replicate's change only by hand. */
const MAX_AGE_SECONDS = 86_400;

type ReadCallback = NonNullable<Provider['readCallback']>;
export type SignedCallback = Parameters<ReadCallback>[0];

/**
 * Reads a provider's signed callbacks. The keys are fetched again when they are too old, and when
 * none fits and they are older than 5 minutes: the provider may have changed them.
 * @param format.signatureIn returns a text if it finds no signature: why the callback is forged
 * @param format.idField the field that has the job's id: of the body, or of its object `within`
 * @throws what `fetchKeys` throws
 */
export function createCallbackReader<Key>(format: {
  fetchKeys(): Promise<Key[]>;
  /** Milliseconds since 1970. */
  now(): number;
  /** `timestamp`: in seconds. */
  signatureIn(delivery: SignedCallback): { timestamp: string; isBy(key: Key): boolean } | string;
  idField: string;
  within?: string;
}): ReadCallback {
  const { fetchKeys, now, signatureIn, idField, within } = format;
  let known: { keys: Key[]; fetchedAt: number } | undefined;
  const keysNotOlderThan = async (seconds: number) => {
    const fetchedAt = now();
    if (!known || fetchedAt - known.fetchedAt > seconds * 1000) {
      known = { keys: await fetchKeys(), fetchedAt };
    }
    return known.keys;
  };
  return async (delivery) => {
    const signature = signatureIn(delivery);
    if (typeof signature === 'string') return forged(signature);
    if (!signedRecently(signature.timestamp, now()))
      return forged('not signed within 5 minutes of now');
    const isSigned =
      (await keysNotOlderThan(MAX_AGE_SECONDS)).some(signature.isBy) ||
      (await keysNotOlderThan(FRESH_SECONDS)).some(signature.isBy);
    if (!isSigned) return forged('the signature is wrong');
    const body = parseJson(delivery.body);
    const jobId = jobIdIn(within === undefined ? body : Object(body)[within], idField);
    return { kind: 'report', jobId, verified: true };
  };
}

/** Whether a callback was signed within 5 minutes of now, before or after. */
function signedRecently(timestampSeconds: string, now: number): boolean {
  const distanceMs = Math.abs(Number(timestampSeconds) * 1000 - now);
  return /^\d+$/.test(timestampSeconds) && distanceMs <= 300_000;
}
