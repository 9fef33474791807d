import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { ApiResponse } from '../client.ts';
import type { TestDatabase } from '../database.ts';
import { createRandom, shuffled } from '../random.ts';
import {
  assertBalance,
  assertOneVideo,
  assertTidyObjects,
  tasksOfKey,
} from '../service/end-state.ts';
import { type ServiceProcess, startServiceProcess } from '../service/service-process.ts';
import { until } from '../until.ts';
import { apiBuyer, type Buyer, webBuyer } from './buyers.ts';
import { CRASHING_SERVICE, type CrashFixture, openCrashFixture } from './crash-fixture.ts';

const NEVER = Number.MAX_SAFE_INTEGER;
const seed = Number(process.env.FRAMEWRIGHT_CRASH_SEED ?? Math.floor(Math.random() * 1e6));
const takesAll = process.env.FRAMEWRIGHT_CRASH_POINTS === 'all';

/** One request, and the response that its client received before the service died, if any. */
interface Round {
  key: string;
  buyer: Buyer;
  response: ApiResponse | undefined;
}

/** Sends one request to a service that dies at its point `at`, and waits until the process ended. */
async function runUntilCrash(
  { fixture, makeBuyer }: Life,
  at: number,
  before: Round | undefined,
): Promise<Round & Crash> {
  const { database } = fixture;
  const key = `crash-${crypto.randomUUID()}`;
  const env = { ...fixture.env, CRASH_KEY: key, CRASH_AT: String(at) };
  await using service = await startServiceProcess(env, CRASHING_SERVICE);
  if (before) await retryAndCheck(fixture, service, before);
  const buyer = await makeBuyer(fixture, service.url);
  const sent = buyer.create(service.url, key).catch(() => undefined);
  await until(
    async () => service.process.signalCode !== null || (await isDone(database, key)),
    Boolean,
  );
  await service.kill('SIGKILL');
  await fixture.expireLeases();
  return { key, buyer, response: await sent, ...crashOf(service) };
}

interface Crash {
  /** How many points were reached, and the name of the last one. */
  points: number;
  last: string;
}

function crashOf(service: ServiceProcess): Crash {
  const points = [...service.output().matchAll(/"point":(\d+),"name":"([^"]+)"/g)];
  return { points: points.length, last: points.at(-1)?.[2] ?? 'none' };
}

async function isDone({ db }: TestDatabase, key: string): Promise<boolean> {
  const [task] = await tasksOfKey(db, key);
  return task?.phase === 'completed';
}

/** Retries the create with its key; the request must end in one video, charged once. */
async function retryAndCheck(
  fixture: CrashFixture,
  service: ServiceProcess,
  round: Round,
): Promise<void> {
  const { db } = fixture.database;
  const { key, buyer } = round;
  const response = await until(
    () => buyer.create(service.url, key),
    ({ status }) => status !== 503,
  );
  assert.ok(response.status === 200 || response.status === 202, JSON.stringify(response.body));
  const { id } = response.body;
  if (round.response?.status === 202) {
    assert.deepEqual({ id, status: response.status }, { id: round.response.body.id, status: 200 });
  }
  await until(
    () => tasksOfKey(db, key),
    (tasks) => tasks.every(({ phase }) => ['completed', 'failed'].includes(phase)),
  );
  await assertOneVideo(db, key, id);
  await assertBalance(db, buyer.accountId, 0);
  await assertTidyObjects(db, fixture.dataDir);
}

/** Numbers from 1 to `total`: all of them, or one that the seed selects. */
function choosePoints(total: number): number[] {
  const all = Array.from({ length: total }, (_, index) => index + 1);
  return takesAll ? all : shuffled(all, createRandom(seed)).slice(0, 1);
}

/** A request, as its buyer sends it. */
interface Life {
  fixture: CrashFixture;
  makeBuyer: typeof webBuyer;
}

async function crashAtManyPoints(t: TestContext, life: Life): Promise<void> {
  const { fixture } = life;
  let round = await runUntilCrash(life, NEVER, undefined);
  assert.equal(round.response?.status, 202);
  assert.ok(round.points > 40, `only ${round.points} points were reached`);
  const points = choosePoints(round.points);
  t.diagnostic(
    `${points.length} of ${round.points} points, FRAMEWRIGHT_CRASH_SEED=${seed}; ` +
      'FRAMEWRIGHT_CRASH_POINTS=all tries all of them',
  );
  for (const point of points) {
    const next = await runUntilCrash(life, point, round).catch((cause: unknown) => {
      throw new Error(`not recovered after a crash ${round.last} (${round.points})`, { cause });
    });
    round = next;
  }
  await using service = await startServiceProcess(fixture.env);
  await retryAndCheck(fixture, service, round);
  assert.equal(await service.kill('SIGTERM'), 0);
}

// A request with a text has no points that the one with a picture lacks.
const LIVES = [
  ['from a text by the API', 'text-to-video', apiBuyer, false],
  ['from a picture by the API', 'image-to-video', apiBuyer, seed % 2 === 0],
  ['from an upload and promotional credits', 'image-to-video', webBuyer, seed % 2 === 1],
] as const;

describe('a service killed at any point of a request', { concurrency: 2 }, () => {
  for (const [title, mode, makeBuyer, isSampled] of LIVES) {
    const skip = !(takesAll || isSampled) && 'FRAMEWRIGHT_CRASH_POINTS=all runs it';
    test(`makes one video and charges it once, ${title}`, { skip }, async (t) => {
      await using fixture = await openCrashFixture(mode);
      await crashAtManyPoints(t, { fixture, makeBuyer });
    });
  }
});
