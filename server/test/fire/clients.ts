import { setTimeout as delay } from 'node:timers/promises';
import { type ApiResponse, client } from '../client.ts';
import type { Random } from '../random.ts';
import { type KeyObservations, observeKey, viewOf } from './observations.ts';
import type { ClientRequest } from './requests.ts';

/** Clients at a time, each with one request in flight. */
const CLIENTS = 10;
/** Before a request is sent again. */
const PAUSE_SECONDS = 0.3;
/** Between two reads of a task. */
const READ_SECONDS = 0.1;

/** All requests of a run, and what their clients observed. */
export interface Load {
  observations: Map<ClientRequest, KeyObservations>;
  /** Requests that got a 200 or 202. */
  confirmed(): ClientRequest[];
  /** How many responses had each status; 0 counts requests without a response. */
  statuses: Map<number, number>;
}

export function prepareLoad(requests: ClientRequest[]): Load {
  const observations = new Map(requests.map((request) => [request, observeKey(request.key)]));
  const confirmed = new Set<ClientRequest>();
  return {
    observations,
    statuses: new Map(),
    confirmed: () => {
      for (const [request, { lastView }] of observations) if (lastView) confirmed.add(request);
      return [...confirmed];
    },
  };
}

/** Sends all requests, and retries each with its key until it gets a 200 or 202. */
export async function sendAll(
  load: Load,
  url: () => Promise<string>,
  signal: AbortSignal,
): Promise<void> {
  const waiting = [...load.observations.keys()];
  const pause = () => delay(PAUSE_SECONDS * 1000, undefined, { signal });
  const sendOneByOne = async () => {
    for (let request = waiting.shift(); request; request = waiting.shift()) {
      while (!(await sendOnce(load, request, url))) await pause();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, sendOneByOne));
}

/** @returns whether the response was a 200 or 202 */
export async function sendOnce(load: Load, request: ClientRequest, url: () => Promise<string>) {
  const api = client(await url(), request.customer.nextSecret());
  const response = await counted(load, api.create(request.body, request.key));
  if (response) load.observations.get(request)?.recordResponse(response);
  return response?.status === 200 || response?.status === 202;
}

/** Reads the task of one confirmed request after the other, in random order, until the signal. */
export async function readAtRandom(
  load: Load,
  url: () => Promise<string>,
  { random, signal }: { random: Random; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    await delay(READ_SECONDS * 1000);
    const confirmed = load.confirmed();
    const request = confirmed[random.below(Math.max(1, confirmed.length))];
    if (request) await readOnce(load, request, url);
  }
}

/** @returns the response; undefined when there was none */
export async function readOnce(load: Load, request: ClientRequest, url: () => Promise<string>) {
  const observation = load.observations.get(request);
  const api = client(await url(), request.customer.nextSecret());
  const response = await counted(load, api.task(observation?.taskId ?? ''));
  if (response?.status === 200) observation?.recordView(viewOf(response.body));
  return response;
}

async function counted(load: Load, sent: Promise<ApiResponse>): Promise<ApiResponse | undefined> {
  const response = await sent.catch(() => undefined);
  const status = response?.status ?? 0;
  load.statuses.set(status, (load.statuses.get(status) ?? 0) + 1);
  return response;
}
