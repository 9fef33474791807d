import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { assertBalance, assertOneVideo, assertTidyObjects, storyOf } from '../books.ts';
import { type Answer, client } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import type { TestDatabase } from '../database.ts';
import { createRandom, shuffled } from '../random.ts';
import { type ServiceProcess, startServiceProcess } from '../service-process.ts';
import { until } from '../until.ts';
import { CRASHING, CREDITS, type CrashWorld, openCrashWorld } from './crash-world.ts';

const NEVER = Number.MAX_SAFE_INTEGER;
/** Points that a run tries by default, of each mode; the seed says which. */
const SAMPLE = 2;
const seed = Number(process.env.FRAMEWRIGHT_CRASH_SEED ?? Math.floor(Math.random() * 1e6));
const takesAll = process.env.FRAMEWRIGHT_CRASH_POINTS === 'all';

/** One request, and the answer that its client got before the service died, if any. */
interface Round {
  key: string;
  accountId: string;
  secret: string;
  answer: Answer | undefined;
}

/** Sends one request to a service that dies at point `at` of it, and waits until it is dead. */
async function die(
  world: CrashWorld,
  at: number,
  before: Round | undefined,
): Promise<Round & Death> {
  const { database, body } = world;
  const key = `crash-${crypto.randomUUID()}`;
  const env = { ...world.env, CRASH_KEY: key, CRASH_AT: String(at) };
  await using service = await startServiceProcess(env, CRASHING);
  if (before) await recover(world, service, before);
  const { accountId, secret } = await makeCustomer(database.db, CREDITS);
  const sent = client(service.url, secret)
    .create(body, key)
    .catch(() => undefined);
  await until(
    async () => service.process.signalCode !== null || (await isDone(database, key)),
    Boolean,
  );
  await service.kill('SIGKILL');
  await world.endLeases();
  return { key, accountId, secret, answer: await sent, ...deathOf(service) };
}

interface Death {
  /** How many points were reached, and what the last one was. */
  points: number;
  last: string;
}

function deathOf(service: ServiceProcess): Death {
  const points = [...service.output().matchAll(/"point":(\d+),"name":"([^"]+)"/g)];
  return { points: points.length, last: points.at(-1)?.[2] ?? 'none' };
}

async function isDone({ db }: TestDatabase, key: string): Promise<boolean> {
  const [task] = await storyOf(db, key);
  return task?.phase === 'completed';
}

/** The client tries again with its key; the request must end in one video, paid for once. */
async function recover(world: CrashWorld, service: ServiceProcess, round: Round): Promise<void> {
  const { db } = world.database;
  const { key, secret, accountId } = round;
  const answer = await until(
    () => client(service.url, secret).create(world.body, key),
    ({ status }) => status !== 503,
  );
  assert.ok(answer.status === 200 || answer.status === 202, JSON.stringify(answer.body));
  const { id } = answer.body;
  if (round.answer?.status === 202) {
    assert.deepEqual({ id, status: answer.status }, { id: round.answer.body.id, status: 200 });
  }
  await until(
    () => storyOf(db, key),
    (story) => story.every(({ phase }) => ['completed', 'failed'].includes(phase)),
  );
  await assertOneVideo(db, key, id);
  await assertBalance(db, accountId, 0);
  await assertTidyObjects(db, world.dataDir);
}

/** Numbers from 1 to `total`: all of them, or a sample that the seed decides. */
function choosePoints(total: number): number[] {
  const all = Array.from({ length: total }, (_, index) => index + 1);
  if (takesAll) return all;
  const sample = shuffled(all, createRandom(seed)).slice(0, SAMPLE);
  return sample.sort((one, other) => one - other);
}

async function dieAtManyPoints(t: TestContext, world: CrashWorld): Promise<void> {
  let round = await die(world, NEVER, undefined);
  assert.equal(round.answer?.status, 202);
  const points = choosePoints(round.points);
  t.diagnostic(
    `${points.length} of ${round.points} points, FRAMEWRIGHT_CRASH_SEED=${seed}; ` +
      'FRAMEWRIGHT_CRASH_POINTS=all tries every one',
  );
  for (const point of points) {
    const next = await die(world, point, round).catch((cause: unknown) => {
      throw new Error(`not recovered after a death ${round.last} (${round.points})`, { cause });
    });
    round = next;
  }
  await using service = await startServiceProcess(world.env);
  await recover(world, service, round);
  assert.equal(await service.kill('SIGTERM'), 0);
}

describe('a service killed at any point of a request', { concurrency: 2 }, () => {
  for (const mode of ['text-to-video', 'image-to-video'] as const) {
    test(`makes its video once and charges it once, ${mode}`, async (t) => {
      await using world = await openCrashWorld(mode);
      await dieAtManyPoints(t, world);
    });
  }
});
