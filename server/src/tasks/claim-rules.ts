import type { WorkerPool } from './claim.ts';
import type { Fleet } from './live-workers.ts';

/**
 * A provider that no running worker has for this long is not served. Until then, a worker that has
 * it may still be starting.
 */
const UNSERVED_AFTER_SECONDS = 60;

/**
 * One account may have an eighth of the ingest places of all workers, so that the slow hosts of a
 * few accounts leave places for the others.
 */
const SHARE_OF_ACCOUNT = 1 / 8;

/** @param monotonic milliseconds by a clock of this process that never goes back */
export function createClaimRules(options: {
  providers: string[];
  ingestPlaces: number;
  monotonic(): number;
}) {
  const { providers: own, monotonic } = options;
  const unservedSince = new Map<string, number>();
  let { ingestPlaces } = options;
  const unserved = () =>
    [...unservedSince]
      .filter(([, since]) => monotonic() - since >= UNSERVED_AFTER_SECONDS * 1000)
      .map(([provider]) => provider);
  return {
    /** Takes note of the other workers. */
    update(fleet: Fleet) {
      ingestPlaces = Math.max(options.ingestPlaces, fleet.ingestPlaces);
      for (const provider of unservedSince.keys()) {
        if (!fleet.unservedProviders.includes(provider)) unservedSince.delete(provider);
      }
      for (const provider of fleet.unservedProviders) {
        if (!unservedSince.has(provider)) unservedSince.set(provider, monotonic());
      }
    },
    /**
     * The providers whose tasks it claims: its own. If no worker has a provider, its tasks that are
     * not submitted yet are claimed too: their submit step ends them as not accepted.
     */
    providers(pool: WorkerPool) {
      return pool === 'submit' || pool === 'ingest' ? [...own, ...unserved()] : own;
    },
    /** How many tasks of one account may fetch their files at a time, in all processes together. */
    accountLimit: () => Math.max(1, Math.floor(ingestPlaces * SHARE_OF_ACCOUNT)),
  };
}
