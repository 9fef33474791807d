import {
  AbortError,
  ApiError,
  apiErrorOf,
  type CallError,
  ConnectionError,
  type Facts,
  WaitTimeoutError,
} from './errors.ts';
import type { ErrorResponse } from './openapi.ts';
import { VERSION } from './version.ts';

/** What a client's calls share. */
export interface Settings {
  apiKey: string;
  baseUrl: string;
  fetch: typeof fetch;
  maxRetries: number;
  timeoutMs: number;
  log(text: string): void;
  /** The client's latest Idempotency-Keys whose create may have reached the service. */
  sentKeys: Set<string>;
}

export interface CallOptions {
  /** Aborts the call at once. Requests already sent may still take effect. */
  signal?: AbortSignal | undefined;
  /** The timeout of one try, instead of the client's `timeoutMs`. */
  timeoutMs?: number | undefined;
  /** How often a request is retried, instead of the client's `maxRetries`. */
  maxRetries?: number | undefined;
  /** The deadline for the call with all its retries. After it, a WaitTimeoutError is thrown. */
  totalTimeoutMs?: number | undefined;
}

export interface RequestOptions extends CallOptions {
  /** Sent as JSON; a Blob is sent as is. */
  body?: unknown;
  headers?: Record<string, string> | undefined;
  /** The create's Idempotency-Key. Every error has it, including those of the reads that follow. */
  idempotencyKey?: string | undefined;
}

/** The options of a call in progress. */
export interface Timed extends CallOptions {
  deadline?: { atMs: number; signal: AbortSignal } | undefined;
}

export interface Call extends Timed, RequestOptions {
  method: string;
  /** Relative to the base URL, or an absolute URL, which gets no API key. */
  path: string;
  taskId?: string | undefined;
  /** How long the service may wait before it responds; added to a try's timeout. */
  waitSeconds?: number | undefined;
  /** false: retried only if the request certainly did nothing. */
  repeats?: boolean | undefined;
  /** Retries at least this often, whatever `maxRetries` says. */
  leastRetries?: number | undefined;
}

const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;
/** After a longer Retry-After the error is thrown, so that the caller decides. */
const LONGEST_RETRY_AFTER_SECONDS = 600;
const MOST_SENT_KEYS = 1000;

/** Clamped to the limit of timers: a longer delay fires at once. */
const timerMs = (ms: number) => Math.min(2 ** 31 - 1, Math.max(0, Math.ceil(ms)));

/** Starts the deadline of a call that sends several requests. */
export function withDeadline<T extends Timed>(options: T): T {
  const { deadline, totalTimeoutMs: ms } = options;
  if (deadline || ms === undefined) return options;
  const signal = AbortSignal.timeout(timerMs(ms));
  return { ...options, deadline: { atMs: performance.now() + ms, signal } };
}

/**
 * Sends a request, retrying after no response, a cut response, 429 and 5xx. `read` reads a
 * successful response; if it throws, the response counts as lost.
 *
 * Once a create may have reached the service, each error has `charged: 'reserved'` and
 * `retry: 'same_key'`, unless a response tells what became of the create.
 */
export async function send<T>(
  settings: Settings,
  given: Call,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const call = { ...withDeadline(given) };
  const url = isApiCall(call) ? settings.baseUrl + call.path : call.path;
  const key = isCreate(call) ? call.idempotencyKey : undefined;
  const retries = Math.max(call.maxRetries ?? settings.maxRetries, call.leastRetries ?? 0);
  for (let tries = 0; ; tries++) {
    const mayHaveArrived = key === undefined ? isAboutTask(call) : settings.sentKeys.has(key);
    if (isOver(call)) throw overError(call, factsOf(call, mayHaveArrived));
    const outcome = await sendOnce(settings, { ...call, url, mayHaveArrived }, read);
    if (key) remember(settings, key, !('error' in outcome) || outcome.error.charged === 'reserved');
    if ('value' in outcome) return outcome.value;
    const { error, mayRetry } = outcome;
    const retryAfter = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) : 0;
    if (!mayRetry || tries >= retries || retryAfter > LONGEST_RETRY_AFTER_SECONDS) throw error;
    if (error.charged === 'reserved') call.taskId = error.taskId; // later errors name it, too
    const pauseMs = Math.max(1000 * retryAfter, backoffMs(tries));
    settings.log(`${nameOf(call)}: again in ${(pauseMs / 1000).toFixed(1)} s`);
    await pause(pauseMs, call, error);
  }
}

function remember({ sentKeys }: Settings, key: string, mayHaveArrived: boolean): void {
  sentKeys.delete(key);
  if (mayHaveArrived) sentKeys.add(key);
  for (const oldest of sentKeys) {
    if (sentKeys.size <= MOST_SENT_KEYS) return;
    sentKeys.delete(oldest);
  }
}

export function sendJson<T extends object>(
  settings: Settings,
  call: Call,
): Promise<WithRequestId<T>> {
  return send(settings, call, readJson<T>);
}

/** A result with its request id (x-request-id), which is not enumerable. */
export type WithRequestId<T> = T & { readonly requestId?: string | undefined };

/** A response's JSON; an empty object for 204. @throws if it is not an object */
export async function readJson<T extends object>(response: Response): Promise<WithRequestId<T>> {
  const value: unknown = JSON.parse(response.status === 204 ? '{}' : await response.text());
  if (!isObject(value)) throw new TypeError('not an object');
  return withRequestId(value as T, requestIdOf(response));
}

export const withRequestId = <T extends object>(
  value: T,
  requestId: string | undefined,
): WithRequestId<T> => Object.defineProperty(value, 'requestId', { value: requestId });

const requestIdOf = ({ headers }: Response) => headers.get('x-request-id') ?? undefined;

const isObject = (value: unknown): value is object =>
  value instanceof Object && !Array.isArray(value);

export const backoffMs = (tries: number): number =>
  Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** tries) * (0.5 + Math.random() / 2);

interface Try extends Call {
  url: string;
  /** Whether an earlier create with this Idempotency-Key, or of this task, may have arrived. */
  mayHaveArrived: boolean;
}

type Outcome<T> = { value: T } | { error: CallError; mayRetry: boolean };

async function sendOnce<T>(
  settings: Settings,
  call: Try,
  read: (response: Response) => Promise<T>,
): Promise<Outcome<T>> {
  const init = initOf(settings, call);
  const limitMs = (call.timeoutMs ?? settings.timeoutMs) + 1000 * (call.waitSeconds ?? 0);
  const timeout = new AbortController();
  const expire = () => timeout.abort(new Error(`timeout of ${limitMs} ms`));
  const timer = setTimeout(expire, timerMs(limitMs));
  const signals = [timeout.signal, call.signal, call.deadline?.signal];
  const signal = AbortSignal.any(signals.filter((one) => one !== undefined));
  const start = performance.now();
  const log = (text: unknown, response?: Response) => {
    const ms = Math.round(performance.now() - start);
    const id = response ? (requestIdOf(response) ?? '') : '';
    settings.log(`${nameOf(call)}: ${text} in ${ms} ms ${id}`.trimEnd());
  };
  try {
    const response = await settings.fetch(call.url, { ...init, signal });
    log(response.status, response);
    if (response.ok) return { value: await read(response) };
    if (response.status < 400) return { error: redirected(call, response), mayRetry: false };
    const error = errorOf(response, await response.text(), call);
    if (call.mayHaveArrived && !tellsOutcome(error, call)) Object.assign(error, CHARGED_PERHAPS);
    const { status } = response;
    const mayRetry = call.repeats === false ? status === 429 : isTransient(status);
    return { error, mayRetry };
  } catch (cause) {
    if (isOver(call)) return { error: overError(call, factsOf(call), cause), mayRetry: false };
    const error = noResponse(call, cause);
    log(error.message);
    return { error, mayRetry: call.repeats !== false || reasonOf(cause).isUnsent };
  } finally {
    clearTimeout(timer);
  }
}

const CHARGED_PERHAPS = { charged: 'reserved', retry: 'same_key' } as const;

/**
 * Whether the response tells the outcome of the create, because the Idempotency-Key was looked up.
 * 401 and 429 come before the look-up.
 */
function tellsOutcome({ status, details }: ApiError, call: Call): boolean {
  if (details.credits !== undefined) return true;
  const isLookedUp = [400, 402, 409, 413, 503].includes(status);
  return isCreate(call) && isLookedUp && details.charged !== undefined;
}

const isTransient = (status: number) => status === 429 || status >= 500;
/** The other calls download a video by its link. */
const isApiCall = ({ path }: Call) => path.startsWith('/');
const isCreate = ({ method, idempotencyKey }: Call) =>
  method === 'POST' && idempotencyKey !== undefined;
/** Whether credits may be at stake, even if the call itself only reads. */
const isAboutTask = ({ idempotencyKey, taskId }: Call) => (idempotencyKey ?? taskId) !== undefined;
const nameOf = (call: Call) => `${call.method} ${isApiCall(call) ? call.path : 'of the video'}`;

function initOf({ apiKey }: Settings, call: Call): RequestInit {
  const { method, body, idempotencyKey } = call;
  const headers = new Headers(call.headers);
  if (idempotencyKey && isCreate(call)) headers.set('idempotency-key', idempotencyKey);
  if (!isApiCall(call)) return { method, headers };
  headers.set('authorization', `Bearer ${apiKey}`);
  headers.set('user-agent', `framewright-typescript/${VERSION}`);
  const isJson = body !== undefined && !(body instanceof Blob);
  if (isJson) headers.set('content-type', 'application/json');
  const sent = isJson ? JSON.stringify(body) : (body ?? null);
  // Following a redirect would send the API key elsewhere. Cloudflare Workers don't support
  // 'error'.
  return { method, headers, redirect: 'manual', body: sent };
}

function factsOf(call: Call, mayHaveArrived = isAboutTask(call)): Facts {
  const { idempotencyKey, taskId } = call;
  return { ...CHARGED_PERHAPS, ...(!mayHaveArrived && { charged: 'no' }), idempotencyKey, taskId };
}

export function lostResponse(call: Call, text = 'no response', cause?: unknown): ConnectionError {
  const facts = { ...factsOf(call), code: 'no_response' as const };
  return new ConnectionError(`${nameOf(call)}: ${text}`, facts, cause);
}

function noResponse(call: Try, cause: unknown): ConnectionError {
  const { text, isUnsent } = reasonOf(cause);
  const address = isApiCall(call) ? call.url.slice(0, -call.path.length) : new URL(call.url).origin;
  if (!isUnsent) return lostResponse(call, `no response from ${address} (${text})`, cause);
  return unsent(call, 'no_response', `no connection to ${address} (${text})`, cause);
}

function redirected(call: Try, { headers }: Response): ConnectionError {
  const to = headers.get('location') ?? 'another address';
  const base = to.endsWith(call.path) ? to.slice(0, -call.path.length) : to;
  return unsent(call, 'redirected', `${call.url} redirects to ${to}: make ${base} the base URL`);
}

/** The error when the request certainly did not reach the service. */
function unsent(call: Try, code: ConnectionError['code'], text: string, cause?: unknown) {
  const message = `${nameOf(call)}: ${text}${call.mayHaveArrived ? '' : '; nothing was sent'}`;
  return new ConnectionError(message, { ...factsOf(call, call.mayHaveArrived), code }, cause);
}

/**
 * Errors of a request that was not sent: in runtimes other than Node, of TLS, of URLs that fetch
 * refuses.
 */
const UNSENT =
  /^ConnectionRefused|^FailedToOpenSocket|error \(Connect\)|CONNECT_TIMEOUT|CERT|^UNABLE|bad port/;

const NO_TLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/;

/** The innermost error says why there was no response; `isUnsent`: there was no connection. */
function reasonOf(error: unknown): { text: string; isUnsent: boolean } {
  const { cause, errors, message, code, syscall } = Object(error);
  const inner = cause ?? errors?.[0];
  if (inner instanceof Error) return reasonOf(inner);
  const isUnsent =
    ['connect', 'getaddrinfo'].includes(syscall) || UNSENT.test(code) || UNSENT.test(message);
  if (NO_TLS.test(code)) return { text: "the server doesn't speak TLS: try http://", isUnsent };
  return { text: message || code || String(error), isUnsent };
}

function errorOf(response: Response, text: string, call: Call): ApiError {
  const { status, headers } = response;
  const { code, message, details = {} } = errorBodyOf(text);
  const facts = factsOf(call);
  const refused: Pick<Facts, 'charged' | 'retry'> = { charged: 'no', retry: 'never' };
  const { charged, retry } = isTransient(status) ? facts : refused;
  return apiErrorOf(message ?? `${nameOf(call)}: HTTP ${status}`, {
    code: code ?? 'unknown',
    status,
    details,
    retryAfterSeconds: retryAfterOf(headers.get('retry-after') ?? ''),
    charged: details.charged ?? charged,
    retry: details.retry ?? retry,
    requestId: requestIdOf(response),
    idempotencyKey: facts.idempotencyKey,
    taskId: details.task_id ?? facts.taskId,
  });
}

/** Retry-After is a number of seconds or a date. */
function retryAfterOf(value: string): number | undefined {
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return seconds > 0 ? seconds : undefined;
}

/** A proxy may respond with HTML or its own error format. */
function errorBodyOf(text: string): Partial<ErrorResponse['error']> {
  try {
    const { code, message, details }: Partial<ErrorResponse['error']> = JSON.parse(text).error;
    const isOwnError = typeof code === 'string' && typeof message === 'string';
    return isOwnError ? { code, message, details: isObject(details) ? details : {} } : {};
  } catch {
    return {};
  }
}

export const newKey = () => `fw-${crypto.randomUUID()}`;

export const isOver = ({ signal, deadline }: Call): boolean =>
  Boolean(signal?.aborted || deadline?.signal.aborted);

function overError(call: Call, facts: Facts, cause?: unknown): AbortError | WaitTimeoutError {
  const { charged, retry, idempotencyKey, taskId } = facts;
  const own = { charged, retry, idempotencyKey, taskId };
  const { signal, totalTimeoutMs } = call;
  if (signal?.aborted) return new AbortError(`${nameOf(call)}: aborted`, own, signal.reason);
  const text = `${nameOf(call)}: not done within the total timeout of ${totalTimeoutMs} ms`;
  return new WaitTimeoutError(text, own, cause);
}

/**
 * Pauses before the call's next request; `last` is the error of the previous one.
 * @throws AbortError as soon as the signal fires; WaitTimeoutError at once if the pause is too long
 */
export async function pause(ms: number, call: Call, last?: CallError): Promise<void> {
  const { signal, deadline } = call;
  const facts = last ?? factsOf(call);
  if (isOver(call) || (deadline && performance.now() + ms > deadline.atMs)) {
    throw overError(call, facts, last);
  }
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
  if (isOver(call)) throw overError(call, facts, last);
}
