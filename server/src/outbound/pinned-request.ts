import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Client } from 'undici';
import { checkAddresses, type HostRules, isAllowed, literalAddress } from './addresses.ts';
import { CLIENT_OPTIONS, IDLE_MS } from './call.ts';
import type { DownloadSession } from './download-session.ts';
import type { LookupLimiter, Resolve } from './host-lookup.ts';
import type { IdleConnections } from './idle-connections.ts';
import { OutboundError } from './refusal.ts';

/** The rules for every request of a download, redirects included. */
export interface RequestRules extends HostRules {
  resolve: Resolve;
  resolveAllowed: Resolve;
  lookups: LookupLimiter;
  /** Certificates (PEM) trusted instead of the system's and `NODE_EXTRA_CA_CERTS`. */
  ca?: string | undefined;
  /** The longest time for a look-up once it runs, and again for connecting, TLS included. */
  connectTimeoutSeconds: number;
  /** From the connection to the end of the response's headers, interim responses included. */
  headersTimeoutSeconds: number;
  /** The longest time between two chunks of the body. */
  idleTimeoutSeconds: number;
}

/** A host's response, its body not read yet. Header names are in lower case. */
export type PinnedResponse = Awaited<ReturnType<typeof requestPinned>>;

const USER_AGENT = 'Framewright/1.0';

interface PinnedRequest {
  headers: Record<string, string>;
  body?: string;
  /** Where its connection is kept after the response; without it, the connection ends. */
  idle?: IdleConnections | undefined;
}

/**
 * Requests one checked URL, without following a redirect. The connection is made to one of the
 * checked addresses, so a second answer of DNS (rebinding) has no effect. An idle connection is
 * used if it was made to the same addresses; if its host has closed it, a new one is made.
 * @throws OutboundError not_public; network errors of Node and undici, for `failureOf`
 */
export async function requestPinned(
  url: URL,
  request: PinnedRequest,
  rules: RequestRules,
  session: DownloadSession,
) {
  const { idle } = request;
  const addresses = await findAddresses(url, rules, session);
  const key = [url.origin, ...addresses.map(({ address }) => address).sort()].join(' ');
  const keep = idle && ((client: Client) => idle.keep(key, client));
  const open = idle?.take(key);
  if (open) {
    session.addConnection(open, keep);
    try {
      return await requestOn(open, url, request, { rules, session, isOpen: true });
    } catch (failure) {
      await session.closeConnection(open);
      if (session.signal.aborted || failure instanceof OutboundError) throw failure;
    }
  }
  const client = connectTo(url, addresses, rules);
  idle?.watch(client);
  session.addConnection(client, keep);
  return requestOn(client, url, request, { rules, session, isOpen: false });
}

async function requestOn(
  client: Client,
  url: URL,
  { headers, body, idle }: PinnedRequest,
  { rules, session, isOpen }: { rules: RequestRules; session: DownloadSession; isOpen: boolean },
) {
  const deadline = headersDeadline(client, rules.headersTimeoutSeconds, isOpen);
  const response = await client
    .request({
      ...(body === undefined ? { method: 'GET' } : { method: 'POST', body }),
      path: url.pathname + url.search,
      headers: { ...headers, 'user-agent': USER_AGENT, 'accept-encoding': 'identity' },
      reset: idle === undefined,
      signal: AbortSignal.any([session.signal, deadline.signal]),
    })
    .finally(deadline.end);
  // The reader gets the error. Without a listener, an unread body's error would end the process.
  response.body.on('error', () => {});
  return {
    status: response.statusCode,
    headers: response.headers,
    body: response.body,
    /** Closes the connection without reading the rest of the body. */
    close: () => session.closeConnection(client),
  };
}

async function findAddresses(
  url: URL,
  rules: RequestRules,
  { customer, signal }: DownloadSession,
): Promise<LookupAddress[]> {
  signal.throwIfAborted();
  const literal = literalAddress(url);
  const addresses =
    literal === undefined
      ? await rules.lookups.run(customer, signal, () => resolveInTime(url, rules, signal))
      : [{ address: literal, family: isIP(literal) }];
  if (addresses.length === 0) {
    throw new OutboundError('not_reachable', 'The host name has no address');
  }
  const texts = addresses.map(({ address }) => address);
  checkAddresses(url, texts, rules);
  return addresses;
}

/** The time that a look-up waits for the limiter does not count. */
async function resolveInTime(url: URL, rules: RequestRules, signal: AbortSignal) {
  const tooSlow = new AbortController();
  const refusal = new OutboundError('too_slow', 'The host name was not resolved in time');
  const timer = setTimeout(() => tooSlow.abort(refusal), rules.connectTimeoutSeconds * 1000);
  const ended = AbortSignal.any([signal, tooSlow.signal]);
  const resolve = isAllowed(url, rules) ? rules.resolveAllowed : rules.resolve;
  try {
    return await Promise.race([resolve(url.hostname, ended), rejectionOf(ended)]);
  } catch (failure) {
    throw ended.aborted ? ended.reason : failure;
  } finally {
    clearTimeout(timer);
  }
}

function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/**
 * Limits the time from the connection to the end of the headers. undici's own timeout starts again
 * with each part of the headers and each interim response (1xx).
 */
function headersDeadline(client: Client, seconds: number, isOpen: boolean) {
  const passed = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const tooSlow = () =>
    passed.abort(new OutboundError('too_slow', 'The host did not begin its response in time'));
  const start = () => {
    timer ??= setTimeout(tooSlow, seconds * 1000);
  };
  if (isOpen) start();
  else client.once('connect', start);
  return { signal: passed.signal, end: () => clearTimeout(timer) };
}

function connectTo({ origin }: URL, addresses: LookupAddress[], rules: RequestRules): Client {
  return new Client(origin, {
    ...CLIENT_OPTIONS,
    bodyTimeout: rules.idleTimeoutSeconds * 1000,
    connectTimeout: rules.connectTimeoutSeconds * 1000,
    maxCachedSessions: 0,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    connect: {
      ca: rules.ca,
      lookup: pinnedLookup(addresses),
      autoSelectFamily: true,
      rejectUnauthorized: true, // also if NODE_TLS_REJECT_UNAUTHORIZED is 0
    },
  });
}

function pinnedLookup(addresses: LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all || first === undefined) callback(null, addresses);
    else callback(null, first.address, first.family);
  };
}
