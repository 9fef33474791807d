import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { audit } from '../../src/operator/audit.ts';
import { sql } from '../task-fixtures.ts';
import { until } from '../until.ts';
import { betweenRenderAndArchive, deleted, openMediaFixture, videoBytes } from './media-fixture.ts';
import { FRAMES } from './refused-media.ts';

const DAY_SECONDS = 86_400;
const RECONCILE_SECONDS = 600;
const CREDITS = 60;
const fixture = await openMediaFixture({
  environment: {
    RETENTION_DAYS: '2',
    DELIVERY_SECONDS: String(3 * DAY_SECONDS),
    RECONCILE_SECONDS: String(RECONCILE_SECONDS),
  },
});
const { db } = fixture;
after(() => fixture.close());

/** An accepted task of a new customer, whose credits pay for exactly this task. */
async function acceptedTask() {
  const customer = await fixture.customer(CREDITS);
  const { status, body } = await customer.create({ ...FRAMES, mode: 'text-to-video' });
  assert.equal(status, 202, JSON.stringify(body));
  const id: string = body.id;
  return {
    id,
    read: async () => (await customer.task(id)).body,
    availableCredits: async () => (await customer.credits()).body.available_credits,
  };
}

test('a damaged render holds task and credits, and is read again later', async () => {
  const task = await acceptedTask();
  let whole = Buffer.alloc(0);
  const render = await betweenRenderAndArchive(fixture, task.id, async (file) => {
    whole = await readFile(file);
    await writeFile(file, whole.subarray(0, whole.length / 2));
  });
  const held = await fixture.settled(task.id, 'held');
  assert.equal(held.held_cause, 'outcome');
  assert.match(JSON.stringify(held.history.at(-1)?.cause), /incomplete/);
  const waiting = `select 1 from tasks where id = $1 and leased_until is null
    and due_at > clock_now() + interval '5 minutes'`;
  assert.equal((await sql(db, waiting, [task.id])).length, 1);
  const { status, error, credits_refunded } = await task.read();
  assert.deepEqual([status, error, credits_refunded], ['processing', null, 0]);
  assert.equal(await task.availableCredits(), 0);
  assert.deepEqual((await audit(db)).problems, []);
  const phases = (await fixture.settled(task.id, 'held')).history.map(({ phase }) => phase);
  assert.deepEqual(phases, ['submitting', 'generating', 'archiving', 'held']);

  await writeFile(render, whole);
  await fixture.database.setClock(RECONCILE_SECONDS + 60);
  await fixture.settled(task.id);
  assert.equal((await task.read()).status, 'completed');
});

test('a video that differs from the request is refunded and not delivered', async () => {
  const other = await videoBytes({ width: 320, height: 180, seconds: 2 });
  const task = await acceptedTask();
  await betweenRenderAndArchive(fixture, task.id, (file) => writeFile(file, other));
  const failed = await fixture.settled(task.id);
  assert.deepEqual(failed.history.at(-1)?.cause, {
    differences: ['asked for 864x496, got 320x180 pixels', 'asked for 4 s, got 2 s'],
  });
  const { status, error, output, credits_refunded } = await task.read();
  assert.deepEqual([status, output, credits_refunded], ['failed', null, CREDITS]);
  assert.equal(error.code, 'provider_failed');
  assert.equal(await task.availableCredits(), CREDITS);
});

test('past its retention an output is deleted: its link says so, and the task stays', async () => {
  const task = await acceptedTask();
  await fixture.settled(task.id);
  const { output } = await task.read();
  assert.equal((await fetch(output.video_url, { method: 'HEAD' })).status, 200);

  await fixture.database.setClock(2 * DAY_SECONDS + 4 * RECONCILE_SECONDS);
  await deleted(fixture, task.id, 'output');
  const expired = await task.read();
  assert.deepEqual([expired.status, expired.credits_refunded], ['completed', 0]);
  for (const url of [output.video_url, expired.output.video_url]) {
    const response = await fetch(url);
    const { error } = JSON.parse(await response.text());
    assert.deepEqual([response.status, error.code], [410, 'output_deleted']);
  }
  assert.deepEqual((await audit(db)).problems, []);
  await until(fixture.storedFiles, (files) => files.length === 0);
});
