import { createFairSemaphore } from '../kernel/fair-semaphore.ts';

/** The customer whose request names a host. */
export interface LookupClient {
  accountId: string;
  /** The task of the request. */
  taskId: string;
}

/** How many look-ups of host names may be under way at once in one process. */
export interface LookupLimits {
  overall: number;
  perAccount: number;
  perRequest: number;
}

/** Limits how many look-ups run at a time; the others wait. */
export interface LookupTurns {
  /**
   * Runs `work` as soon as the limits allow it. Of the look-ups that wait, the next one is of the
   * account that has the fewest under way.
   * @param client whose limits apply; undefined: only the overall limit applies
   * @throws the signal's reason when it aborts before `work` has started
   */
  run<T>(client: LookupClient | undefined, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/**
 * A name whose servers never respond is looked up until the timeout. With these limits, such names
 * delay only the look-ups of their own account. One file needs one look-up at a time.
 */
const LIMITS: LookupLimits = { overall: 256, perAccount: 8, perRequest: 4 };

export function createLookupTurns(limits: LookupLimits = LIMITS): LookupTurns {
  const ofRequests = createFairSemaphore(Number.POSITIVE_INFINITY, limits.perRequest);
  const ofAccounts = createFairSemaphore(limits.overall, limits.perAccount);
  return {
    run(client, signal, work) {
      // A name that no customer chose counts by itself, so only the overall limit applies.
      if (client === undefined) return ofAccounts.run(crypto.randomUUID(), signal, work);
      const { accountId, taskId } = client;
      return ofRequests.run(taskId, signal, () => ofAccounts.run(accountId, signal, work));
    },
  };
}
