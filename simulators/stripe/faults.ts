/**
 * What may go wrong with a writing call.
 * `lost`: it is done, and its response is lost.
 * `saved-500`: Stripe saves a 500 under its Idempotency-Key, and repeats it. Whether it is done,
 * see `isDone`.
 * `conflict`: 409, another call with its key is in progress. `rate-limit`: 429. `outage`: a 500.
 * Of these three nothing is done, and nothing is saved.
 */
export interface Fault {
  kind: 'lost' | 'saved-500' | 'conflict' | 'rate-limit' | 'outage';
  /** Such as `POST customers`; without it, any writing call. */
  call?: string;
  /** Of a saved 500: whether its work is done all the same. */
  isDone?: boolean;
}

type FaultKind = Fault['kind'];

export interface Faults {
  /** These befall the next calls that they fit, one each. */
  next: Fault[];
  /** The share of the other writing calls that each befalls, from 0 to 1. */
  share: Partial<Record<FaultKind, number>>;
}

/** The fault that befalls a call now; undefined: none. */
export function drawFault(faults: Faults, call: string, chance: () => number): Fault | undefined {
  const found = faults.next.findIndex((fault) => (fault.call ?? call) === call);
  if (found >= 0) return faults.next.splice(found, 1)[0];
  let rest = chance();
  for (const kind of ['lost', 'saved-500', 'conflict', 'rate-limit', 'outage'] as const) {
    rest -= faults.share[kind] ?? 0;
    if (rest < 0) return { kind, isDone: chance() < 0.5 };
  }
  return undefined;
}
