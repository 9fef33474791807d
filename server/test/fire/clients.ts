import { setTimeout as delay } from 'node:timers/promises';
import { type ApiResponse, client } from '../client.ts';
import type { Random } from '../random.ts';
import { type Hearing, startHearing, viewOf } from './answers.ts';
import type { Errand } from './errands.ts';

/** Requests that are on their way at a time, each by a client of its own. */
const CLIENTS = 10;
/** Before a request is sent again. */
const PAUSE_SECONDS = 0.3;
/** Between two reads of somebody's task. */
const READ_SECONDS = 0.1;

/** What all clients went through. */
export interface Load {
  hearings: Map<Errand, Hearing>;
  /** Errands that were answered 200 or 202. */
  answered(): Errand[];
  /** How often each status was answered; 0: no answer. */
  statuses: Map<number, number>;
}

export function prepareLoad(errands: Errand[]): Load {
  const hearings = new Map(errands.map((errand) => [errand, startHearing(errand.key)]));
  const answered = new Set<Errand>();
  return {
    hearings,
    statuses: new Map(),
    answered: () => {
      for (const [errand, { lastView }] of hearings) if (lastView) answered.add(errand);
      return [...answered];
    },
  };
}

/** Sends all errands, each again and again with its key until it is answered 200 or 202. */
export async function sendAll(
  load: Load,
  url: () => Promise<string>,
  signal: AbortSignal,
): Promise<void> {
  const waiting = [...load.hearings.keys()];
  const pause = () => delay(PAUSE_SECONDS * 1000, undefined, { signal });
  const sendOneByOne = async () => {
    for (let errand = waiting.shift(); errand; errand = waiting.shift()) {
      while (!(await sendOnce(load, errand, url))) await pause();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, sendOneByOne));
}

/** @returns whether it was answered 200 or 202 */
export async function sendOnce(load: Load, errand: Errand, url: () => Promise<string>) {
  const api = client(await url(), errand.customer.nextSecret());
  const answer = await noted(load, api.create(errand.body, errand.key));
  if (answer) load.hearings.get(errand)?.hear(answer);
  return answer?.status === 200 || answer?.status === 202;
}

/** Reads answered tasks, one after the other as the random fall, until the signal. */
export async function readAtRandom(
  load: Load,
  url: () => Promise<string>,
  { random, signal }: { random: Random; signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    await delay(READ_SECONDS * 1000);
    const answered = load.answered();
    const errand = answered[random.below(Math.max(1, answered.length))];
    if (errand) await readOnce(load, errand, url);
  }
}

/** @returns the answer; undefined when there was none */
export async function readOnce(load: Load, errand: Errand, url: () => Promise<string>) {
  const hearing = load.hearings.get(errand);
  const api = client(await url(), errand.customer.nextSecret());
  const answer = await noted(load, api.task(hearing?.taskId ?? ''));
  if (answer?.status === 200) hearing?.see(viewOf(answer.body));
  return answer;
}

async function noted(load: Load, asked: Promise<ApiResponse>): Promise<ApiResponse | undefined> {
  const answer = await asked.catch(() => undefined);
  const status = answer?.status ?? 0;
  load.statuses.set(status, (load.statuses.get(status) ?? 0) + 1);
  return answer;
}
