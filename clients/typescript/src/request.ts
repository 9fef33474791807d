import { AbortError, ApiError, type Charged, ConnectionError, type Retry } from './errors.ts';
import type { ErrorResponse } from './openapi.ts';

/** What all calls of a client share. */
export interface Settings {
  apiKey: string;
  baseUrl: string;
  fetch: typeof fetch;
  maxRetries: number;
  timeoutMs: number;
}

export interface CallOptions {
  /** Ends the call at once. What was sent may still take effect. */
  signal?: AbortSignal | undefined;
}

export interface Call extends CallOptions {
  method: string;
  /** Below the base URL, or a whole URL, which gets no API key. */
  path: string;
  /** Sent as JSON; a Blob is sent as it is. */
  body?: unknown;
  headers?: Record<string, string> | undefined;
  /** Of the create; it is in each error, also of the reads that follow. */
  idempotencyKey?: string | undefined;
  taskId?: string | undefined;
  /** The least number of tries after the first one. */
  leastRetries?: number | undefined;
}

const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;
const LONGEST_RETRY_AFTER_MS = 60_000;

/**
 * Sends a request, and again after no response, a response that was cut off, 429 and 5xx.
 * `read` reads a response that is not an error; what it throws counts as a lost response.
 */
export async function send<T>(
  settings: Settings,
  call: Call,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const retries = Math.max(settings.maxRetries, call.leastRetries ?? 0);
  let isInDoubt = false;
  for (let tries = 0; ; tries++) {
    throwIfAborted(call);
    const outcome = await sendOnce(settings, call, read);
    if ('value' in outcome) return outcome.value;
    const { error } = outcome;
    if (isInDoubt && !tellsOfEarlierTries(error)) Object.assign(error, unknownFacts(call));
    isInDoubt = error.charged === 'reserved';
    if (!outcome.again || tries >= retries) throw error;
    await pause(Math.max(outcome.retryAfterMs, backoffMs(tries)), call);
  }
}

/** Sends a request as `send` does, and parses the JSON of the response. */
export function sendJson<T>(settings: Settings, call: Call): Promise<T> {
  return send(settings, call, readJson<T>);
}

/**
 * The JSON of a response; an empty object for one without a body.
 * @throws for what no operation of the API returns
 */
export async function readJson<T>(response: Response): Promise<T> {
  const value: unknown = JSON.parse(response.status === 204 ? '{}' : await response.text());
  if (isObject(value)) return value as T;
  throw new TypeError('no object');
}

const isObject = (value: unknown): value is object =>
  value instanceof Object && !Array.isArray(value);

/** A pause before the next try. */
export const backoffMs = (tries: number) =>
  Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** tries) * (0.5 + Math.random() / 2);

type Outcome<T> =
  | { value: T }
  | { error: ApiError | ConnectionError; again: boolean; retryAfterMs: number };

async function sendOnce<T>(
  settings: Settings,
  call: Call,
  read: (response: Response) => Promise<T>,
): Promise<Outcome<T>> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error('timeout')), settings.timeoutMs);
  const signal = call.signal ? AbortSignal.any([call.signal, late.signal]) : late.signal;
  try {
    const url = isOwn(call) ? settings.baseUrl + call.path : call.path;
    const response = await settings.fetch(url, { ...initOf(settings, call), signal });
    if (response.ok) return { value: await read(response) };
    const error = errorOf(response, await response.text(), call);
    const retryAfterMs = 1000 * (error.retryAfterSeconds ?? 0);
    return {
      error,
      again: isPassing(response.status),
      retryAfterMs: Math.min(LONGEST_RETRY_AFTER_MS, retryAfterMs),
    };
  } catch (cause) {
    throwIfAborted(call);
    return { error: lostResponse(call, cause), again: true, retryAfterMs: 0 };
  } finally {
    clearTimeout(timer);
  }
}

/** Whether the service has looked up the key. It looks at the API key and its rate before. */
function tellsOfEarlierTries(error: ApiError | ConnectionError): boolean {
  if (!(error instanceof ApiError) || error.details.charged === undefined) return false;
  return [400, 402, 409, 413, 503].includes(error.status);
}

const isPassing = (status: number) => status === 429 || status >= 500;
const isOwn = ({ path }: Call) => path.startsWith('/');
const isCreate = ({ method, idempotencyKey }: Call) => method === 'POST' && idempotencyKey;
const nameOf = (call: Call) => `${call.method} ${isOwn(call) ? call.path : 'of the video'}`;

function initOf({ apiKey }: Settings, call: Call): RequestInit {
  const { method, body, idempotencyKey } = call;
  const headers = new Headers(call.headers);
  if (idempotencyKey && isCreate(call)) headers.set('idempotency-key', idempotencyKey);
  if (!isOwn(call)) return { method, headers };
  headers.set('authorization', `Bearer ${apiKey}`);
  // A redirect would take the API key elsewhere. Workers do not have `error`.
  if (body === undefined) return { method, headers, redirect: 'manual' };
  if (body instanceof Blob) return { method, headers, redirect: 'manual', body };
  headers.set('content-type', 'application/json');
  return { method, headers, redirect: 'manual', body: JSON.stringify(body) };
}

/** What is known without a response of the service: a create may have reserved credits. */
function unknownFacts({ idempotencyKey, taskId }: Call) {
  const charged: Charged = idempotencyKey === undefined ? 'no' : 'reserved';
  const retry: Retry = 'same_key';
  return { charged, retry, idempotencyKey, taskId };
}

export function lostResponse(call: Call, cause?: unknown): ConnectionError {
  return new ConnectionError(`${nameOf(call)}: no response`, unknownFacts(call), cause);
}

type ErrorBody = Partial<ErrorResponse['error']>;

function errorOf({ status, headers }: Response, text: string, call: Call): ApiError {
  const { code, message, details = {} } = errorBodyOf(text);
  const { idempotencyKey, taskId, ...unknown } = unknownFacts(call);
  const isRefused = !isPassing(status) && (isCreate(call) || !idempotencyKey);
  const { charged, retry }: { charged: Charged; retry: Retry } = isRefused
    ? { charged: 'no', retry: 'never' }
    : unknown;
  return new ApiError(message ?? `${nameOf(call)}: HTTP ${status}`, {
    code: code ?? 'unknown',
    status,
    details,
    retryAfterSeconds: Number(headers.get('retry-after')) || undefined,
    charged: details.charged ?? charged,
    retry: details.retry ?? retry,
    requestId: headers.get('x-request-id') ?? undefined,
    idempotencyKey,
    taskId: details.task_id ?? taskId,
  });
}

/** A proxy in between may respond with a page, or with an error of its own. */
function errorBodyOf(text: string): ErrorBody {
  try {
    const { code, message, details }: ErrorBody = JSON.parse(text).error;
    const isOwnError = typeof code === 'string' && typeof message === 'string';
    return isOwnError ? { code, message, details: isObject(details) ? details : {} } : {};
  } catch {
    return {};
  }
}

/** A key for all tries of one call. */
export const newKey = () => `fw-${crypto.randomUUID()}`;

/** @throws AbortError */
function throwIfAborted(call: Call): void {
  const { signal } = call;
  if (!signal?.aborted) return;
  throw new AbortError(`${nameOf(call)}: aborted`, unknownFacts(call), signal.reason);
}

/** @throws AbortError as soon as the call's signal fires */
export async function pause(ms: number, call: Call): Promise<void> {
  const { signal } = call;
  throwIfAborted(call);
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
  throwIfAborted(call);
}
