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

interface WaitingLookup {
  client: LookupClient | undefined;
  start(): void;
}

export function createLookupTurns(limits: LookupLimits = LIMITS): LookupTurns {
  const waiting = new Set<WaitingLookup>();
  const underWay = new Map<string, number>();
  const count = (key: string) => underWay.get(key) ?? 0;
  const add = (client: LookupClient | undefined, change: 1 | -1) => {
    for (const [key] of limitsOf(client, limits)) {
      const changed = count(key) + change;
      if (changed === 0) underWay.delete(key);
      else underWay.set(key, changed);
    }
  };
  const mayStart = (client: LookupClient | undefined) =>
    limitsOf(client, limits).every(([key, limit]) => count(key) < limit);
  const shareOf = ({ client }: WaitingLookup) => (client ? count(accountKey(client)) : 0);
  const startNext = () => {
    let next: WaitingLookup | undefined;
    for (const lookup of waiting) {
      if (!mayStart(lookup.client)) continue;
      if (next === undefined || shareOf(lookup) < shareOf(next)) next = lookup;
    }
    next?.start();
  };
  const acquire = (client: LookupClient | undefined, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const lookup: WaitingLookup = {
        client,
        start() {
          waiting.delete(lookup);
          signal.removeEventListener('abort', giveUp);
          add(client, 1);
          resolve();
        },
      };
      const giveUp = () => {
        waiting.delete(lookup);
        reject(signal.reason);
      };
      if (mayStart(client)) return lookup.start();
      waiting.add(lookup);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  return {
    async run(client, signal, work) {
      signal.throwIfAborted();
      await acquire(client, signal);
      try {
        return await work();
      } finally {
        add(client, -1);
        startNext();
      }
    },
  };
}

/** The limits that apply to a look-up, each with the key under which it is counted. */
function limitsOf(client: LookupClient | undefined, limits: LookupLimits): [string, number][] {
  const overall: [string, number] = ['all', limits.overall];
  if (client === undefined) return [overall];
  return [
    overall,
    [accountKey(client), limits.perAccount],
    [`request ${client.taskId}`, limits.perRequest],
  ];
}

function accountKey({ accountId }: LookupClient): string {
  return `account ${accountId}`;
}
