import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  assertBalance,
  assertOneVideo,
  assertTidyObjects,
  type KeyStory,
  storyOf,
} from '../books.ts';
import { type Answer, client } from '../client.ts';
import { makeCustomer, type ServiceProcess, startServiceProcess, until } from '../service.ts';
import { CRASHING, CREDITS, type CrashWorld, openCrashWorld } from './crash-world.ts';

/**
 * Where a service is paused, and what became of its task meanwhile: `same` when the other process
 * could go on with it, `new` when nobody had been told of it and its key was armed again.
 */
const PAUSES = [
  { at: 'before object_register', task: 'same' },
  { at: 'after object_register', task: 'same' },
  { at: 'before local_job_add', task: 'new' },
  { at: 'after local_job_add', task: 'same' },
  { at: 'before local_job_finish', task: 'same' },
] as const;

function isDecided([task]: KeyStory[]): boolean {
  return !['reserved', 'ingesting', 'submitting'].includes(task?.phase ?? 'reserved');
}

async function isPaused(service: ServiceProcess, at: string): Promise<boolean> {
  return service.output().includes(`"name":"${at}"`);
}

/** Creates with one key on a service that is paused on the way; another one finishes the task. */
async function finishElsewhere(world: CrashWorld, at: string) {
  const { database, body, env } = world;
  const { accountId, secret } = await makeCustomer(database.db, CREDITS);
  const key = `pause-${crypto.randomUUID()}`;
  const plan = { CRASH_KEY: key, CRASH_AT: at, CRASH_SIGNAL: 'SIGSTOP' };
  await using paused = await startServiceProcess({ ...env, ...plan }, CRASHING);
  const answer = client(paused.url, secret).create(body, key);
  await until(() => isPaused(paused, at), Boolean);
  await world.endLeases();
  await using other = await startServiceProcess(env);
  // An answer before that would announce the task: then it would be tried again in any case.
  await until(() => storyOf(database.db, key), isDecided);
  const retried = await until(
    () => client(other.url, secret).create(body, key),
    ({ status }) => status !== 503,
  );
  await until(
    () => storyOf(database.db, key),
    ([task]) => task?.phase === 'completed',
  );
  await assertTidyObjects(database.db, world.dataDir); // what the paused one began is deleted
  paused.process.kill('SIGCONT');
  const late = await answer;
  assert.equal(await paused.kill('SIGTERM'), 0);
  await assertOneVideo(database.db, key, retried.body.id);
  await assertTidyObjects(database.db, world.dataDir);
  await assertBalance(database.db, accountId, 0);
  assert.equal(await other.kill('SIGTERM'), 0);
  return { late, retried };
}

function assertSameTask(late: Answer, retried: Answer): void {
  assert.deepEqual([late.status, retried.status], [202, 200]);
  assert.equal(late.body.id, retried.body.id);
}

function assertNewTask(late: Answer, retried: Answer): void {
  assert.deepEqual([late.status, retried.status], [503, 202]);
  assert.equal(late.body.error.details.credits, 'refunded');
  assert.notEqual(late.body.error.details.task_id, retried.body.id);
}

describe('a service paused for longer than its lease', { concurrency: 2 }, () => {
  for (const { at, task } of PAUSES) {
    test(`does not disturb what another one finished: ${at}`, async () => {
      await using world = await openCrashWorld('image-to-video');
      const { late, retried } = await finishElsewhere(world, at);
      const check = { same: assertSameTask, new: assertNewTask }[task];
      check(late, retried);
    });
  }
});

test('a verdict that comes after another process finished the task changes nothing', async () => {
  await using world = await openCrashWorld('image-to-video');
  const { database, host, body } = world;
  const { accountId, secret } = await makeCustomer(database.db, CREDITS);
  const slow = host.serve('/slow.png', { kind: 'stall' });
  const request = { ...body, image_url: slow };
  await using stuck = await startServiceProcess({ ...world.env, LOG_LEVEL: 'debug' });
  const answer = client(stuck.url, secret).create(request, 'verdict');
  await host.requested('/slow.png');
  stuck.process.kill('SIGSTOP');
  host.serve('/slow.png', world.picture);
  await world.endLeases();
  await using other = await startServiceProcess(world.env);
  await until(
    () => storyOf(database.db, 'verdict'),
    ([task]) => task?.phase === 'completed',
  );
  await host.close(); // which ends the download that the paused service still waits for
  stuck.process.kill('SIGCONT');
  const { status, body: task } = await answer;
  await until(async () => stuck.output().includes('"msg":"a step was superseded"'), Boolean);
  assert.equal(status, 202);
  assert.equal(await stuck.kill('SIGTERM'), 0);
  await assertOneVideo(database.db, 'verdict', task.id);
  await assertBalance(database.db, accountId, 0);
  assert.equal(await other.kill('SIGTERM'), 0);
});
