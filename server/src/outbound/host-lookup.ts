import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { UsageError } from '../kernel/errors.ts';
import { createFairSemaphore } from '../kernel/fair-semaphore.ts';
import { OutboundError } from './refusal.ts';

/** Gives all addresses of a host name. The signal ends the look-up. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<LookupAddress[]>;

/** How long the second address family may take after the first one was resolved. */
const SECOND_FAMILY_MS = 1000;

/**
 * Parses `OUTBOUND_DNS`, such as `1.1.1.1,[2606:4700:4700::1111]:53`. Empty: the system's servers.
 * @throws UsageError that names the invalid entry
 */
export function parseDnsServers(text: string): string[] {
  if (text.trim() === '') return [];
  const servers = text.split(',').map((entry) => entry.trim());
  for (const server of servers) {
    try {
      new Resolver().setServers([server]);
    } catch (cause) {
      const message = `OUTBOUND_DNS: "${server}" is not an IP address, with a port if needed`;
      throw new UsageError(message, { cause });
    }
  }
  return servers;
}

/**
 * Resolves the names that clients and providers choose, by DNS alone: no hosts file, no search
 * domains. A look-up uses no thread, and ends with its signal, since it has its own resolver.
 * @throws OutboundError not_reachable or too_slow
 */
export function createDnsLookup(servers: readonly string[]): Resolve {
  return async (host, signal) => {
    const resolver = new Resolver();
    if (servers.length > 0) resolver.setServers(servers);
    const cancel = () => resolver.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    const done = new AbortController();
    try {
      const families = [resolver.resolve4(host), resolver.resolve6(host)];
      // Some name servers never respond to queries for IPv6 addresses.
      Promise.any(families)
        .then(() => delay(SECOND_FAMILY_MS, undefined, { signal: done.signal }))
        .then(cancel, () => {});
      return addressesIn(await Promise.allSettled(families));
    } finally {
      done.abort();
      signal.removeEventListener('abort', cancel);
    }
  };
}

function addressesIn(families: PromiseSettledResult<string[]>[]): LookupAddress[] {
  const addresses = families.flatMap((family, index) => {
    const texts = family.status === 'fulfilled' ? family.value : [];
    return texts.map((address) => ({ address, family: index === 0 ? 4 : 6 }));
  });
  if (addresses.length > 0) return addresses;
  const failures = families.map((family) => (family.status === 'rejected' ? family.reason : null));
  throw dnsRefusal(failures);
}

/** A failure without a DNS code is a bug of the service, and is returned unchanged. */
function dnsRefusal(failures: unknown[]): unknown {
  const codes = failures.map(dnsCode);
  const bug = failures.find((failure, index) => failure !== null && codes[index] === undefined);
  if (bug !== undefined) return bug;
  const [cause] = failures;
  if (codes.includes('ETIMEOUT')) {
    return new OutboundError('too_slow', 'The host name was not resolved in time', { cause });
  }
  return new OutboundError('not_reachable', 'The host name could not be resolved', { cause });
}

function dnsCode(failure: unknown): string | undefined {
  const isOfDns = failure instanceof Error && 'syscall' in failure && 'code' in failure;
  return isOfDns ? String(failure.code) : undefined;
}

/**
 * Resolves names that the operator allows, as the system does. Even after its caller has given up,
 * a look-up occupies a thread of a small pool that other connections need. So only one look-up runs
 * at a time, and calls for the same name share it.
 */
export function createSystemLookup(): Resolve {
  const permit = createFairSemaphore(1);
  const underWay = new Map<string, Promise<LookupAddress[]>>();
  return (host) => {
    const known = underWay.get(host);
    if (known !== undefined) return known;
    const found = permit
      .run('system', undefined, () => lookup(host, { all: true }))
      .finally(() => underWay.delete(host));
    underWay.set(host, found);
    return found;
  };
}

/** The customer whose request names a host, and the task of that request. */
export interface LookupCustomer {
  accountId: string;
  taskId: string;
}

export interface LookupLimits {
  overall: number;
  perAccount: number;
  perRequest: number;
}

/**
 * With these limits, names whose servers never respond delay only the look-ups of their own
 * account. One file needs one look-up at a time.
 */
const LIMITS: LookupLimits = { overall: 256, perAccount: 8, perRequest: 4 };

export type LookupLimiter = ReturnType<typeof createLookupLimiter>;

/** Limits how many look-ups run at a time. The account with the fewest under way is next. */
export function createLookupLimiter(limits: LookupLimits = LIMITS) {
  const byRequest = createFairSemaphore(Number.POSITIVE_INFINITY, limits.perRequest);
  const byAccount = createFairSemaphore(limits.overall, limits.perAccount);
  return {
    /**
     * @param customer whose limits apply; undefined: no customer chose the name, and only the
     *   overall limit applies
     * @throws the signal's reason when it aborts before `work` has started
     */
    run<T>(customer: LookupCustomer | undefined, signal: AbortSignal, work: () => Promise<T>) {
      if (customer === undefined) return byAccount.run(crypto.randomUUID(), signal, work);
      const { accountId, taskId } = customer;
      return byRequest.run(taskId, signal, () => byAccount.run(accountId, signal, work));
    },
  };
}
