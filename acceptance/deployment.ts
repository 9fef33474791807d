import { setTimeout as delay } from 'node:timers/promises';

/** A response of the deployment. A body that is not JSON is kept as text. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a black-box suite looks into bodies of every shape
  body: any;
}

interface RequestOptions {
  method?: string;
  body?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  /** Instead of a key of the account under test; with `null` no key is sent. */
  key?: string | null | undefined;
}

/** How long a test waits for a task to end. */
const PATIENCE_SECONDS = Number(process.env.FRAMEWRIGHT_PATIENCE_SECONDS ?? 600);

const url = required('FRAMEWRIGHT_URL').replace(/\/+$/, '');

/** Keys of the account under test. The last of several is used only to test the rate limit. */
const keys = (process.env.FRAMEWRIGHT_KEYS ?? required('FRAMEWRIGHT_KEY')).split(',');
export const rateKey = keys.at(-1) ?? '';
const sharedKeys = keys.length > 1 ? keys.slice(0, -1) : keys;
let turn = process.pid; // test files run in parallel and begin with different keys

/** A key of an account without credits, a key of another account, and the URL of `media/`. */
export const poorKey = process.env.FRAMEWRIGHT_POOR_KEY;
export const otherKey = process.env.FRAMEWRIGHT_OTHER_KEY;
export const mediaBase = process.env.FRAMEWRIGHT_MEDIA?.replace(/\/+$/, '');

/** For the `skip` option of a test: the reason if a variable that it needs is not set. */
export function needs(name: string): false | string {
  return process.env[name] ? false : `${name} is not set`;
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`set ${name}: see acceptance/README.md`);
  return value;
}

/** Sends a request once. `path` begins after `/api/v1`, unless it is a URL. */
export async function sendOnce(path: string, options: RequestOptions = {}): Promise<ApiResponse> {
  const { method = options.body === undefined ? 'GET' : 'POST', body, key = nextKey() } = options;
  const headers = {
    ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    ...options.headers,
  };
  const target = path.startsWith('http') ? path : `${url}/api/v1${path}`;
  const response = await fetch(target, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: readBody(text) };
}

function readBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function nextKey(): string {
  turn += 1;
  return sharedKeys[turn % sharedKeys.length] ?? '';
}

/**
 * Sends a request. After a 429 it is sent again with the next key, or, when all keys got a 429, after
 * the shortest Retry-After.
 */
export async function send(path: string, options: RequestOptions = {}): Promise<ApiResponse> {
  const tries = options.key === undefined ? sharedKeys.length : 1;
  for (;;) {
    let waitSeconds = Number.POSITIVE_INFINITY;
    for (let count = 0; count < tries; count += 1) {
      const response = await sendOnce(path, options);
      if (response.status !== 429) return response;
      waitSeconds = Math.min(waitSeconds, Number(response.headers.get('retry-after')));
    }
    await delay(waitSeconds * 1000);
  }
}

/** POST /video/generations with a fresh Idempotency-Key unless the headers name one. */
export function create(body: unknown, options: RequestOptions = {}): Promise<ApiResponse> {
  const headers = {
    'content-type': 'application/json',
    'idempotency-key': crypto.randomUUID(),
    ...options.headers,
  };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return send('/video/generations', { ...options, method: 'POST', body: text, headers });
}

/** The available paid credits. */
export async function availableCredits(): Promise<number> {
  return (await send('/credits')).body.available_credits;
}

/** Reads a task about once a second until it is completed or failed. */
export async function untilEnded(id: string): Promise<ApiResponse> {
  const end = performance.now() + PATIENCE_SECONDS * 1000;
  for (;;) {
    const response = await send(`/tasks/${id}`);
    if (response.body.status !== 'processing') return response;
    if (performance.now() > end)
      throw new Error(`${id} did not end: ${JSON.stringify(response.body)}`);
    await delay(1000);
  }
}
