import { setTimeout as delay } from 'node:timers/promises';

/** One answer of the deployment. A body that is no JSON is kept as text. */
export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a black-box suite looks into bodies of every shape
  body: any;
}

export interface Ask {
  method?: string;
  body?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  /** Another key than those of the account under test; `null` sends none. */
  key?: string | null | undefined;
}

/** Tasks and credits are asked for as long as this before a test gives up. */
const PATIENCE_SECONDS = Number(process.env.FRAMEWRIGHT_PATIENCE_SECONDS ?? 600);

const url = required('FRAMEWRIGHT_URL').replace(/\/+$/, '');

/** Keys of the one account under test. The last of several is kept for the test of the rate limit. */
const keys = (process.env.FRAMEWRIGHT_KEYS ?? required('FRAMEWRIGHT_KEY')).split(',');
export const rateKey = keys.at(-1) ?? '';
const ring = keys.length > 1 ? keys.slice(0, -1) : keys;
let turn = process.pid; // files run side by side and begin with different keys

/** A key of an account without credits; of an account of somebody else; a host with `media/`. */
export const poorKey = process.env.FRAMEWRIGHT_POOR_KEY;
export const otherKey = process.env.FRAMEWRIGHT_OTHER_KEY;
export const mediaBase = process.env.FRAMEWRIGHT_MEDIA?.replace(/\/+$/, '');

/** For the `skip` option of a test: the reason, when something that it needs was not given. */
export function needs(name: string): false | string {
  return process.env[name] ? false : `${name} is not set`;
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`set ${name}: see acceptance/README.md`);
  return value;
}

/** Sends one request, once, whatever comes back. `path` begins after `/api/v1`, unless it is a URL. */
export async function askOnce(path: string, ask: Ask = {}): Promise<Answer> {
  const { method = ask.body === undefined ? 'GET' : 'POST', body, key = nextKey() } = ask;
  const headers = { ...(key === null ? {} : { authorization: `Bearer ${key}` }), ...ask.headers };
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
  return ring[turn % ring.length] ?? '';
}

/**
 * Sends one request. Where a key's 30 requests are used up, the next key is taken; when all are,
 * the shortest time that the answers name is waited for.
 */
export async function ask(path: string, request: Ask = {}): Promise<Answer> {
  const tries = request.key === undefined ? ring.length : 1;
  for (;;) {
    let waitSeconds = Number.POSITIVE_INFINITY;
    for (let count = 0; count < tries; count += 1) {
      const answer = await askOnce(path, request);
      if (answer.status !== 429) return answer;
      waitSeconds = Math.min(waitSeconds, Number(answer.headers.get('retry-after')));
    }
    await delay(waitSeconds * 1000);
  }
}

/** POST /video/generations with a fresh Idempotency-Key unless the headers name one. */
export function create(body: unknown, request: Ask = {}): Promise<Answer> {
  const headers = {
    'content-type': 'application/json',
    'idempotency-key': crypto.randomUUID(),
    ...request.headers,
  };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return ask('/video/generations', { ...request, method: 'POST', body: text, headers });
}

/** The available paid credits. */
export async function availableCredits(): Promise<number> {
  return (await ask('/credits')).body.available_credits;
}

/** Reads a task about once a second until it is completed or failed. */
export async function ended(id: string): Promise<Answer> {
  const end = performance.now() + PATIENCE_SECONDS * 1000;
  for (;;) {
    const answer = await ask(`/tasks/${id}`);
    if (answer.body.status !== 'processing') return answer;
    if (performance.now() > end)
      throw new Error(`${id} did not end: ${JSON.stringify(answer.body)}`);
    await delay(1000);
  }
}
