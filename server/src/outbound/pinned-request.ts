import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'undici';
import { type AllowList, checkAddresses, literalAddress } from './addresses.ts';
import type { DownloadSession } from './download-session.ts';
import { OutboundError } from './refusal.ts';

/** Finds all addresses of a host name, like `dns.lookup` with `all`. */
export type Resolve = (host: string) => Promise<LookupAddress[]>;

/** What every hop is held to. */
export interface RequestRules {
  allow: AllowList;
  resolve: Resolve;
  ca?: string | undefined;
  connectTimeoutSeconds: number;
  headersTimeoutSeconds: number;
  idleTimeoutSeconds: number;
}

/** A host's answer, its body not yet read. Header names are in lower case. */
export interface PinnedResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Readable;
  /** Gives the rest of the body up and closes the connection. */
  close(): Promise<void>;
}

const USER_AGENT = 'Framewright/1.0';
const HEADERS_BYTES = 16 * 1024;

/**
 * Asks one checked URL, without following a redirect, over a connection of its own to an address
 * that was checked after the look-up: a name that changes in between changes nothing.
 * @throws OutboundError not_public; network failures come as they are, for the session to explain
 */
export async function requestPinned(
  url: URL,
  headers: Record<string, string>,
  rules: RequestRules,
  session: DownloadSession,
): Promise<PinnedResponse> {
  const addresses = await findAddresses(url, rules, session.signal);
  const client = connectTo(url, addresses, rules);
  session.addClient(client);
  const response = await client.request({
    method: 'GET',
    path: url.pathname + url.search,
    headers: { ...headers, 'user-agent': USER_AGENT, 'accept-encoding': 'identity' },
    reset: true,
    signal: session.signal,
  });
  response.body.on('error', () => {}); // whoever reads the body hears it; nobody may be reading
  return {
    status: response.statusCode,
    headers: response.headers,
    body: response.body,
    close: () => session.closeClient(client),
  };
}

async function findAddresses(
  url: URL,
  rules: RequestRules,
  signal: AbortSignal,
): Promise<LookupAddress[]> {
  signal.throwIfAborted();
  const literal = literalAddress(url);
  const addresses =
    literal === undefined
      ? await resolveInTime(url.hostname, rules, signal)
      : [{ address: literal, family: isIP(literal) }];
  if (addresses.length === 0) {
    throw new OutboundError('not_reachable', 'The host name has no address');
  }
  const texts = addresses.map(({ address }) => address);
  checkAddresses(url, texts, rules.allow);
  return addresses;
}

async function resolveInTime(host: string, rules: RequestRules, signal: AbortSignal) {
  const responded = new AbortController();
  const patience = AbortSignal.any([signal, responded.signal]);
  const tooSlow = delay(rules.connectTimeoutSeconds * 1000, undefined, { signal: patience });
  try {
    return await Promise.race([
      rules.resolve(host),
      tooSlow.then(() => {
        throw new OutboundError('too_slow', 'The host name was not resolved in time');
      }),
    ]);
  } finally {
    responded.abort();
  }
}

function connectTo(url: URL, addresses: LookupAddress[], rules: RequestRules): Client {
  return new Client(url.origin, {
    allowH2: false,
    maxHeaderSize: HEADERS_BYTES,
    connectTimeout: rules.connectTimeoutSeconds * 1000,
    headersTimeout: rules.headersTimeoutSeconds * 1000,
    bodyTimeout: rules.idleTimeoutSeconds * 1000,
    maxCachedSessions: 0,
    connect: {
      ca: rules.ca,
      rejectUnauthorized: true, // also where NODE_TLS_REJECT_UNAUTHORIZED says otherwise
      lookup: pinned(addresses),
      autoSelectFamily: true,
    },
  });
}

function pinned(addresses: LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all || first === undefined) callback(null, addresses);
    else callback(null, first.address, first.family);
  };
}
