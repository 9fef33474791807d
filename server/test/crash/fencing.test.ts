import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { client } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { unlessLong } from '../long.ts';
import { assertBalance, assertOneVideo, assertTidyObjects } from '../service/end-state.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { until } from '../until.ts';
import {
  CRASHING_SERVICE,
  type CrashFixture,
  openCrashFixture,
  untilPhase,
  VIDEO_CREDITS,
} from './crash-fixture.ts';

/**
 * Where a service is paused, and what happens to its task: `same` if the other process continues it,
 * `new` if it was not announced, so that it failed and its Idempotency-Key was released.
 */
const PAUSES = [
  { at: 'before local_job_add', task: 'new', always: false },
  { at: 'after local_job_add', task: 'same', always: true },
  { at: 'before object_register', task: 'same', always: false },
  { at: 'after object_register', task: 'same', always: false },
  { at: 'before local_job_finish', task: 'same', always: false },
] as const;

/** The phases of a task that is accepted, held or has ended. */
const DECIDED = ['generating', 'archiving', 'held', 'completed', 'failed'];

/** Sends a create to a service that is paused during it; another service finishes the task. */
async function finishElsewhere(fixture: CrashFixture, at: string) {
  const { database, body, env } = fixture;
  const { accountId, secret } = await makeCustomer(database.db, VIDEO_CREDITS);
  const key = `pause-${crypto.randomUUID()}`;
  const plan = { CRASH_KEY: key, CRASH_AT: at, CRASH_SIGNAL: 'SIGSTOP' };
  await using paused = await startServiceProcess({ ...env, ...plan }, CRASHING_SERVICE);
  const response = client(paused.url, secret).create(body, key);
  await until(async () => paused.output().includes(`"name":"${at}"`));
  await fixture.expireLeases();
  await using other = await startServiceProcess(env);
  // A retry before that would announce the task, which would then never release its key.
  await untilPhase(database.db, key, ...DECIDED);
  const retried = await until(
    () => client(other.url, secret).create(body, key),
    ({ status }) => status !== 503,
  );
  await untilPhase(database.db, key, 'completed');
  await assertTidyObjects(database.db, fixture.dataDir); // what the paused service began is deleted
  paused.process.kill('SIGCONT');
  const late = await response;
  assert.equal(await paused.kill('SIGTERM'), 0);
  await assertOneVideo(database.db, key, retried.body.id);
  await assertTidyObjects(database.db, fixture.dataDir);
  await assertBalance(database.db, accountId, 0);
  assert.equal(await other.kill('SIGTERM'), 0);
  return { late, retried };
}

describe('a service paused for longer than its lease', { concurrency: 2 }, () => {
  for (const { at, task, always } of PAUSES) {
    const skip = !always && unlessLong;
    test(`does not change a task that another service finished: ${at}`, { skip }, async () => {
      await using fixture = await openCrashFixture('image-to-video');
      const { late, retried } = await finishElsewhere(fixture, at);
      const isSame = task === 'same';
      assert.deepEqual([late.status, retried.status], isSame ? [202, 200] : [503, 202]);
      assert.equal(late.body.error?.details.credits, isSame ? undefined : 'refunded');
      const id = isSame ? late.body.id : late.body.error.details.task_id;
      assert.equal(id === retried.body.id, isSame);
    });
  }
});

test('an ingest that fails after another process finished the task changes nothing', async () => {
  await using fixture = await openCrashFixture('image-to-video');
  const { database, host, body } = fixture;
  const { accountId, secret } = await makeCustomer(database.db, VIDEO_CREDITS);
  const slow = host.serve('/slow.png', { kind: 'stall' });
  const request = { ...body, image_url: slow };
  await using stuck = await startServiceProcess({ ...fixture.env, LOG_LEVEL: 'debug' });
  const response = client(stuck.url, secret).create(request, 'late');
  await host.requested('/slow.png');
  stuck.process.kill('SIGSTOP');
  host.serve('/slow.png', fixture.picture);
  await fixture.expireLeases();
  await using other = await startServiceProcess(fixture.env);
  await untilPhase(database.db, 'late', 'completed');
  await host.close(); // ends the download that the paused service still waits for
  stuck.process.kill('SIGCONT');
  const { status, body: task } = await response;
  await until(async () => stuck.output().includes('"msg":"a step was superseded"'));
  assert.equal(status, 202);
  assert.equal(await stuck.kill('SIGTERM'), 0);
  await assertOneVideo(database.db, 'late', task.id);
  await assertBalance(database.db, accountId, 0);
  assert.equal(await other.kill('SIGTERM'), 0);
});
