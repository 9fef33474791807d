import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { ApiResponse } from '../client.ts';
import { LONG } from '../long.ts';
import { createRandom, shuffled } from '../random.ts';
import { type ServiceProcess, startServiceProcess } from '../service/service-process.ts';
import { until } from '../until.ts';
import { CRASHING_SERVICE, type CrashFixture } from './crash-fixture.ts';

const NEVER = Number.MAX_SAFE_INTEGER;
export const seed = Number(process.env.FRAMEWRIGHT_SEED ?? Math.floor(Math.random() * 1e6));

/** What a client does once, while the service dies at one point of it. */
export interface Story {
  /** Points are counted from the first statement that has this in its values. */
  mark: string;
  /** Makes what the client needs, on the service that will die. */
  prepare?(url: string): Promise<unknown>;
  /** Sends the request; what was sent before is sent again as it was. */
  act(url: string): Promise<ApiResponse>;
  /** Whether everything that follows from the request has happened. */
  isDone(): Promise<boolean>;
  /** Sends the request again, as the client does, and checks how everything ended. */
  check(url: string, response: ApiResponse | undefined): Promise<void>;
}

/** A story, and the response that its client received before the service died, if any. */
interface Round {
  story: Story;
  response: ApiResponse | undefined;
  /** How many points were reached, and the name of the last one. */
  points: number;
  last: string;
}

/** Plays a story on a service that dies at its point `at`, and waits until the process ended. */
async function playUntilCrash(
  fixture: CrashFixture,
  story: Story,
  at: number,
  before: Round | undefined,
): Promise<Round> {
  const env = { ...fixture.env, CRASH_KEY: story.mark, CRASH_AT: String(at) };
  await using service = await startServiceProcess(env, CRASHING_SERVICE);
  if (before) await before.story.check(service.url, before.response);
  await story.prepare?.(service.url);
  const sent = story.act(service.url).catch(() => undefined);
  await until(async () => service.process.signalCode !== null || (await story.isDone()));
  if (at === NEVER) await sent;
  await service.kill('SIGKILL');
  await fixture.expireLeases();
  return { story, response: await sent, ...pointsOf(service) };
}

function pointsOf(service: ServiceProcess): Pick<Round, 'points' | 'last'> {
  const points = [...service.output().matchAll(/"point":(\d+),"name":"([^"]+)"/g)];
  return { points: points.length, last: points.at(-1)?.[2] ?? 'none' };
}

/** Numbers from 1 to `total`: all of them, or one that the seed selects. */
function choosePoints(total: number): number[] {
  const all = Array.from({ length: total }, (_, index) => index + 1);
  return LONG ? all : shuffled(all, createRandom(seed)).slice(0, 1);
}

/** Plays a new story for each point, and checks on the next service how the last one ended. */
export async function crashAtManyPoints(
  t: TestContext,
  fixture: CrashFixture,
  life: { leastPoints: number; open(): Promise<Story> },
): Promise<void> {
  let round = await playUntilCrash(fixture, await life.open(), NEVER, undefined);
  assert.ok(round.points > life.leastPoints, `only ${round.points} points were reached`);
  const points = choosePoints(round.points);
  t.diagnostic(`${points.length} of ${round.points} points, FRAMEWRIGHT_SEED=${seed}`);
  for (const point of points) {
    const story = await life.open();
    const next = await playUntilCrash(fixture, story, point, round).catch((cause: unknown) => {
      throw new Error(`not recovered after a crash ${round.last} (${round.points})`, { cause });
    });
    round = next;
  }
  await using service = await startServiceProcess(fixture.env);
  await round.story.check(service.url, round.response);
  assert.equal(await service.kill('SIGTERM'), 0);
}
