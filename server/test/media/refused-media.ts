import assert from 'node:assert/strict';
import { SMALLEST } from '../client.ts';
import type { MediaFixture } from './media-fixture.ts';

const CREDITS = 10_000;

/** The cheapest request that takes frames. */
export const FRAMES = {
  ...SMALLEST,
  mode: 'image-to-video',
  prompt: 'A picture that comes to life',
};

/** The cheapest request that takes references. */
export const REFERENCES = { ...FRAMES, mode: 'media-to-video' };

/**
 * Sends a request whose media must be refused. Asserts a 400 with exactly these details (apart from
 * `task_id` and `credits`), which `inputs` repeats, a full refund, a failed task, and that a replay returns this task.
 * @returns the task's id
 */
export async function assertMediaRefused(fixture: MediaFixture, body: object, expected: object) {
  const customer = await fixture.customer(CREDITS);
  const key = crypto.randomUUID();
  const refusal = await customer.create(body, key);
  assert.equal(refusal.status, 400, JSON.stringify(refusal.body));
  const { code, message, details } = refusal.body.error;
  const { task_id: taskId, charged, retry, inputs, ...rest } = details;
  assert.deepEqual([charged, retry], ['refunded', 'new_key']);
  assert.deepEqual(
    { code, ...rest },
    { code: 'invalid_request', credits: 'refunded', ...expected },
  );
  assert.ok(message.startsWith(rest.field), message);
  const { entry, credits: _, ...same } = rest;
  const listed = { ...same, ...(entry === undefined ? {} : { index: entry }) };
  const isThis = (one: { field: string; index?: number }) =>
    one.field === rest.field && one.index === entry;
  const { message: said, ...own } = inputs.find(isThis);
  assert.deepEqual(own, listed, 'the file is one of the refused inputs');
  assert.ok(message.endsWith(`: ${said}`), message);
  assert.doesNotMatch(message, /127\.0\.0\.1|10\.0\.0\.1|169\.254|fd00/);
  assert.equal((await customer.credits()).body.available_credits, CREDITS);

  const { body: task } = await customer.task(taskId);
  assert.equal(task.status, 'failed');
  assert.deepEqual(task.error, { code: 'invalid_media', message });
  assert.ok(task.credits_used > 0);
  assert.equal(task.credits_refunded, task.credits_used);
  assert.equal(task.output, null);
  const replay = await customer.create(body, key);
  assert.deepEqual([replay.status, replay.body], [200, task]);
  assert.equal(replay.headers.get('idempotent-replayed'), 'true');
  return taskId;
}
