import { checkUrl, type HostRules } from './addresses.ts';
import { countedChunks, openBody, type Pace } from './body.ts';
import { checkDigest } from './body-digest.ts';
import type { ByteBudget } from './byte-budget.ts';
import { beginDownloadSession, type DownloadSession } from './download-session.ts';
import {
  createDnsLookup,
  createSystemLookup,
  type DnsServers,
  type Resolve,
} from './host-lookup.ts';
import { type KeptClients, keepClients } from './kept-clients.ts';
import { createLookupTurns, type LookupClient } from './lookup-turns.ts';
import { type PinnedResponse, type RequestRules, requestPinned } from './pinned-request.ts';
import { type PostOptions, type PostResponse, postOnce } from './post.ts';
import { OutboundError, refusalFor } from './refusal.ts';

export interface GuardedFetchOptions extends HostRules {
  /**
   * All addresses of a host name. When not given: the system's resolver for hosts on the allow
   * list, DNS alone for all others.
   */
  resolve?: Resolve | undefined;
  /** The DNS servers for hosts that are not on the allow list; the system's when not given. */
  dnsServers?: DnsServers | undefined;
  /** Certificates (PEM) trusted instead of the system's and `NODE_EXTRA_CA_CERTS`. */
  ca?: string | undefined;
  /**
   * For resolving the host name, once the look-up has its turn; the same time again for connect and
   * TLS together. 10 when not given.
   */
  connectTimeoutSeconds?: number | undefined;
  /**
   * From the connection to the end of the response's headers, interim responses (1xx) included. 20
   * when not given.
   */
  headersTimeoutSeconds?: number | undefined;
  /** The longest time between two chunks of the body. 20 when not given. */
  idleTimeoutSeconds?: number | undefined;
  /**
   * The lowest average speed at which a host may send. 16 KiB a second after 10 seconds when not
   * given.
   */
  pace?: Pace | undefined;
  /** For a whole download. 300 when not given. */
  deadlineSeconds?: number | undefined;
}

export interface DownloadOptions {
  signal?: AbortSignal | undefined;
  /** The customer who names the URL; undefined if a provider names it. */
  client?: LookupClient | undefined;
  /** Counts the bytes of the body, after content decoding. */
  budget: ByteBudget;
  /** For the whole download, including the time that its reader takes. */
  deadlineSeconds?: number | undefined;
  /** Allows plain http for a `host:port` on the allow list. */
  plainHttpWhereAllowed?: boolean | undefined;
  /**
   * Whether the connection stays open for later downloads from the same host and addresses. Only
   * for what a provider names: a customer's host must not hold connections.
   */
  keepsConnection?: boolean | undefined;
  /**
   * Whether the body is compared with the digest that its host gives. Not for a customer's host: a
   * wrong header would refuse a file that is decoded in full anyway.
   */
  comparesDigest?: boolean | undefined;
  /** Sent to the origin of the first URL only, never to another origin after a redirect. */
  headers?: Record<string, string> | undefined;
}

interface Download {
  /** The URL of the file, after redirects. */
  finalUrl: string;
  /** As the host sent it; not verified. */
  contentType: string | null;
  /** To be iterated once. Leaving the iteration early closes the connection. */
  body: AsyncIterable<Uint8Array>;
}

/** The only way to fetch from hosts that clients or providers name. */
export interface GuardedFetch {
  /**
   * Gets a file by https from a public host. Follows at most 5 redirects and checks each target
   * like the first URL. At the deadline the connection is closed, also if the body was never read.
   * @throws OutboundError, here or while the body is read; the signal's reason after it aborted;
   *   AbortError after close
   */
  download(url: string, options: DownloadOptions): Promise<Download>;
  /** Aborts every download; resolves when their sockets are closed. */
  close(): Promise<void>;
}

/** The only way to send something to hosts that clients name. */
export interface GuardedPost {
  /**
   * Sends one POST to a public host by https (or by http to a host on the allow list), without
   * following redirects.
   * @throws OutboundError when no response came; AbortError after close
   */
  post(url: string, options: PostOptions): Promise<PostResponse>;
}

interface DownloadRules extends RequestRules {
  pace: Pace;
  kept: KeptClients;
}

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** No content, reset content, partial content: successes without the whole file. */
const NOT_THE_FILE = new Set([204, 205, 206]);

export function createGuardedFetch(settings: GuardedFetchOptions): GuardedFetch & GuardedPost {
  const rules = rulesOf(settings);
  const sessions = new Set<DownloadSession>();
  let closed = false;
  const begin = (options: Pick<DownloadOptions, 'signal' | 'client' | 'deadlineSeconds'>) => {
    if (closed) throw shuttingDown();
    const session = beginDownloadSession({
      signal: options.signal,
      client: options.client,
      deadlineSeconds: options.deadlineSeconds ?? settings.deadlineSeconds ?? 300,
      onEnd: (ended) => sessions.delete(ended),
    });
    sessions.add(session);
    return session;
  };
  return {
    download: async (url, options) => startDownload(url, options, rules, begin(options)),
    post: async (url, options) => postOnce(url, options, rules, begin(options)),
    async close() {
      closed = true;
      rules.kept.close();
      await Promise.all([...sessions].map((session) => session.end(shuttingDown())));
    },
  };
}

function rulesOf(options: GuardedFetchOptions): DownloadRules {
  return {
    allow: options.allow,
    deny: options.deny,
    ports: options.ports,
    resolve: options.resolve ?? createDnsLookup(options.dnsServers ?? []),
    resolveAllowed: options.resolve ?? createSystemLookup(),
    lookupTurns: createLookupTurns(),
    ca: options.ca,
    connectTimeoutSeconds: options.connectTimeoutSeconds ?? 10,
    headersTimeoutSeconds: options.headersTimeoutSeconds ?? 20,
    idleTimeoutSeconds: options.idleTimeoutSeconds ?? 20,
    kept: keepClients(),
    pace: options.pace ?? { graceSeconds: 10, bytesPerSecond: 16 * 1024 },
  };
}

async function startDownload(
  url: string,
  options: DownloadOptions,
  rules: DownloadRules,
  session: DownloadSession,
): Promise<Download> {
  try {
    const { finalUrl, response } = await followRedirects(url, options, rules, session);
    const body = openBody(response, options.budget);
    const contentType = response.headers['content-type'];
    const digest = options.comparesDigest ? checkDigest(response.headers) : undefined;
    return {
      finalUrl: finalUrl.href,
      contentType: typeof contentType === 'string' ? contentType : null,
      body: countedChunks(body, { budget: options.budget, session, pace: rules.pace, digest }),
    };
  } catch (failure) {
    const error = session.failureOf(failure);
    await session.end();
    throw error;
  }
}

async function followRedirects(
  start: string,
  options: DownloadOptions,
  rules: DownloadRules,
  session: DownloadSession,
) {
  let target = start;
  let origin: string | undefined;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    try {
      const url = checkUrl(target, rules, options);
      origin ??= url.origin;
      const headers = url.origin === origin ? (options.headers ?? {}) : {};
      const kept = options.keepsConnection ? rules.kept : undefined;
      const response = await requestPinned(url, { headers, kept }, rules, session);
      const location = redirectLocation(response);
      if (location === undefined) return { finalUrl: url, response: requireFile(response) };
      await response.close();
      target = URL.parse(location, url)?.href ?? location;
    } catch (failure) {
      const refusal = refusalFor(failure);
      const atRedirect = redirects > 0 && refusal instanceof OutboundError;
      throw atRedirect ? refusal.afterRedirects(redirects) : refusal;
    }
  }
  const message = `The host redirects more than ${MAX_REDIRECTS} times`;
  throw new OutboundError('too_many_redirects', message, { details: { limit: MAX_REDIRECTS } });
}

function redirectLocation(response: PinnedResponse): string | undefined {
  const { location } = response.headers;
  return REDIRECTS.has(response.status) && typeof location === 'string' ? location : undefined;
}

function requireFile(response: PinnedResponse): PinnedResponse {
  const { status } = response;
  if (status >= 200 && status < 300 && !NOT_THE_FILE.has(status)) return response;
  const message = `The host responded with HTTP status ${status}`;
  throw new OutboundError('not_reachable', message, { details: { http_status: status } });
}

function shuttingDown(): DOMException {
  return new DOMException('The service is shutting down', 'AbortError');
}
