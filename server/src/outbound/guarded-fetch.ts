// The room outbound/: calls to hosts that clients and providers name. Each connection goes to a
// checked, public address (decisions/0011).

import { checkUrl, type HostRules } from './addresses.ts';
import { type Body, type DownloadOptions, type DownloadRules, startDownload } from './download.ts';
import { beginDownloadSession, type DownloadSession } from './download-session.ts';
import {
  createDnsLookup,
  createLookupLimiter,
  createSystemLookup,
  type LookupCustomer,
} from './host-lookup.ts';
import { createIdleConnections } from './idle-connections.ts';
import { type PinnedResponse, type RequestRules, requestPinned } from './pinned-request.ts';

type GivenRules = Partial<Omit<DownloadRules, 'allow' | 'idle' | 'lookups' | 'resolveAllowed'>>;

export interface GuardedFetchOptions extends HostRules, GivenRules {
  /** The DNS servers for hosts that are not on the allow list; the system's when not given. */
  dnsServers?: readonly string[] | undefined;
  /** For a whole download. 300 when not given. */
  deadlineSeconds?: number;
}

/** The only way to fetch from hosts that clients or providers name. */
export interface GuardedFetch {
  /**
   * Gets a file by https from a public host. Follows at most 5 redirects and checks each target
   * like the first URL. At the deadline the connection is closed, even if the body was never read.
   * @throws OutboundError, here or while the body is read; the signal's reason; AbortError after
   *   close
   */
  download(url: string, options: DownloadOptions): Promise<Body>;
  /** Aborts every download; resolves when their sockets are closed. */
  close(): Promise<void>;
}

interface PostOptions {
  customer: LookupCustomer;
  headers: Record<string, string>;
  body: string;
  /** From the look-up of the host to the end of the response. */
  deadlineSeconds: number;
  /** How much of the response's body is returned; 1 KiB when not given, at most 64 KiB. */
  keptBytes?: number;
}

interface PostResponse {
  status: number;
  /** The start of the body, as text. */
  start: string;
}

/** The only way to send something to hosts that clients name, or that moderate for the operator. */
export interface GuardedPost {
  /**
   * Sends one POST to a public host by https, or by http to one on the allow list; no redirects.
   * @throws OutboundError when no response came; AbortError after close
   */
  post(url: string, options: PostOptions): Promise<PostResponse>;
}

export function createGuardedFetch(settings: GuardedFetchOptions): GuardedFetch & GuardedPost {
  const rules = rulesOf(settings);
  const sessions = new Set<DownloadSession>();
  let isClosed = false;
  const begin = (options: Pick<DownloadOptions, 'signal' | 'customer' | 'deadlineSeconds'>) => {
    if (isClosed) throw shuttingDown();
    const session = beginDownloadSession({
      signal: options.signal,
      customer: options.customer,
      deadlineSeconds: options.deadlineSeconds ?? settings.deadlineSeconds ?? 300,
      onEnd: () => sessions.delete(session),
    });
    sessions.add(session);
    return session;
  };
  return {
    download: async (url, options) => startDownload(url, options, rules, begin(options)),
    post: async (url, options) => postOnce(url, options, rules, begin(options)),
    async close() {
      isClosed = true;
      rules.idle.close();
      await Promise.all([...sessions].map((session) => session.end(shuttingDown())));
    },
  };
}

function rulesOf({ resolve, dnsServers = [], ...given }: GuardedFetchOptions): DownloadRules {
  return {
    connectTimeoutSeconds: 10,
    headersTimeoutSeconds: 20,
    idleTimeoutSeconds: 20,
    pace: { graceSeconds: 10, bytesPerSecond: 16 * 1024 },
    idle: createIdleConnections(),
    lookups: createLookupLimiter(),
    resolve: resolve ?? createDnsLookup(dnsServers),
    resolveAllowed: resolve ?? createSystemLookup(),
    ...given,
  };
}

function shuttingDown(): DOMException {
  return new DOMException('The service is shutting down', 'AbortError');
}

const READ_BYTES = 64 * 1024;
const KEPT_BYTES = 1024;

async function postOnce(
  url: string,
  { headers, body, keptBytes = KEPT_BYTES }: PostOptions,
  rules: RequestRules,
  session: DownloadSession,
): Promise<PostResponse> {
  try {
    const target = checkUrl(url, rules, { plainHttpWhereAllowed: true });
    const response = await requestPinned(target, { headers, body }, rules, session);
    return { status: response.status, start: await startOf(response, keptBytes) };
  } catch (failure) {
    throw session.failureOf(failure);
  } finally {
    await session.end();
  }
}

/** Reads the start of the body. If that fails, the response still counts: its status is known. */
async function startOf({ body }: PinnedResponse, keptBytes: number): Promise<string> {
  const kept: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    for await (const chunk of body) {
      if (sizeBytes < keptBytes) kept.push(chunk);
      sizeBytes += chunk.length;
      if (sizeBytes >= READ_BYTES) break;
    }
  } catch {
    // keep what arrived
  }
  return Buffer.concat(kept).subarray(0, keptBytes).toString();
}
