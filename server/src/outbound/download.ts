import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { checkUrl } from './addresses.ts';
import { checkDigest, type DigestCheck } from './body-digest.ts';
import type { ByteBudget } from './byte-budget.ts';
import type { DownloadSession } from './download-session.ts';
import type { LookupCustomer } from './host-lookup.ts';
import type { IdleConnections } from './idle-connections.ts';
import { type PinnedResponse, type RequestRules, requestPinned } from './pinned-request.ts';
import { OutboundError, refusalFor } from './refusal.ts';

export interface DownloadOptions {
  signal?: AbortSignal | undefined;
  /** The customer who names the URL; undefined if a provider names it. */
  customer?: LookupCustomer | undefined;
  budget: ByteBudget;
  /** For the whole download, including the time that its reader takes. */
  deadlineSeconds?: number | undefined;
  plainHttpWhereAllowed?: boolean | undefined;
  /**
   * Checks the body against its host's digest. Not for customers' hosts: a wrong header would
   * refuse a good file, and a damaged file is noticed anyway, because it is decoded in full.
   */
  comparesDigest?: boolean | undefined;
  /** Whether the connection stays open for the next download from its host. */
  keepsConnection?: boolean | undefined;
  /** Sent to the origin of the first URL only, never to another origin after a redirect. */
  headers?: Record<string, string> | undefined;
}

/** A file, to be iterated once. Leaving the iteration early closes the connection. */
export type Body = AsyncIterable<Uint8Array>;

export interface DownloadRules extends RequestRules {
  idle: IdleConnections;
  /** How fast a host must send on average, once the grace period is over. */
  pace: { graceSeconds: number; bytesPerSecond: number };
}

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** No content, reset content, partial content: successes without the whole file. */
const NOT_THE_FILE = new Set([204, 205, 206]);

/** See `GuardedFetch.download`. The session ends with the body, or with the failure. */
export async function startDownload(
  url: string,
  options: DownloadOptions,
  rules: DownloadRules,
  session: DownloadSession,
): Promise<Body> {
  try {
    const response = await followRedirects(url, options, rules, session);
    const { budget } = options;
    const body = openBody(response, budget);
    const digest = options.comparesDigest ? checkDigest(response.headers) : undefined;
    return countChunks(body, { budget, session, pace: rules.pace, digest });
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
): Promise<PinnedResponse> {
  let target = start;
  let origin: string | undefined;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    try {
      const url = checkUrl(target, rules, options);
      origin ??= url.origin;
      const headers = url.origin === origin ? (options.headers ?? {}) : {};
      const idle = options.keepsConnection ? rules.idle : undefined;
      const response = await requestPinned(url, { headers, idle }, rules, session);
      const location = redirectLocation(response);
      if (location === undefined) return requireFile(response);
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

const DECODERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

/**
 * The decoded body. Requests ask for no content encoding; a host may use one anyway.
 * @throws OutboundError not_reachable for an unknown encoding or more than one; too_large when the
 *   content length is more than the budget has left
 */
function openBody(response: PinnedResponse, budget: ByteBudget): Readable {
  const encoding = String(response.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (encoding === 'identity' || encoding === '') {
    budget.requireRemaining(Number(response.headers['content-length'] ?? 0));
    return response.body;
  }
  const decoder = DECODERS.get(encoding)?.();
  if (!decoder) {
    throw new OutboundError('not_reachable', 'The host used an unknown content encoding');
  }
  // A failure destroys the returned stream, so that its reader gets the error.
  return pipeline(response.body, decoder, () => {});
}

interface Counting {
  budget: ByteBudget;
  session: DownloadSession;
  pace: DownloadRules['pace'];
  digest: DigestCheck | undefined;
}

/** Yields a body's chunks as they arrive and counts them. Ends the session when iteration ends. */
async function* countChunks(
  body: Readable,
  { budget, session, pace, digest }: Counting,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    session.signal.throwIfAborted();
    const watch = watchPace(pace);
    for await (const chunk of body) {
      budget.take(chunk.length);
      watch.arrived(chunk.length);
      digest?.update(chunk);
      yield chunk;
      watch.resume();
    }
    digest?.end();
    session.keepConnections();
  } catch (failure) {
    throw session.failureOf(failure);
  } finally {
    await session.end();
  }
}

/** Measures how fast a host sends. The time that the reader takes between chunks does not count. */
function watchPace({ graceSeconds, bytesPerSecond }: DownloadRules['pace']) {
  let waitedSeconds = 0;
  let bytes = 0;
  let since = performance.now();
  return {
    /** @throws OutboundError too_slow */
    arrived(length: number) {
      waitedSeconds += (performance.now() - since) / 1000;
      bytes += length;
      if (waitedSeconds < graceSeconds || bytes >= waitedSeconds * bytesPerSecond) return;
      const details = { bytes_per_second: Math.round(bytes / waitedSeconds) };
      throw new OutboundError('too_slow', 'The host sends too slowly', { details });
    },
    resume() {
      since = performance.now();
    },
  };
}
