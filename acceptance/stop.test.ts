import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertCommonHeaders, assertError, assertVideoTask } from './assertions.ts';
import { type ApiResponse, send } from './deployment.ts';
import { call, createTest, inTestMode, movements, testKey, waitForEnd } from './test-mode.ts';

// Cancels and deletes, on test tasks: they cost nothing and can be stopped at any time.

const key = testKey(5);

/** A 409 with the task in its details. */
function assertConflict({ status, headers, body }: ApiResponse, code: string, id: string): void {
  assert.deepEqual([status, body.error?.code], [409, code], JSON.stringify(body));
  assertVideoTask({ status, headers, body: body.error.details.task });
  assert.equal(body.error.details.task.id, id);
}

test('a cancelled task fails and is refunded, and twice is harmless', inTestMode, async () => {
  const { id } = (await createTest('test-slow', { key })).body;
  const cancelled = await call('POST', `/tasks/${id}/cancel`, { key });
  assert.equal(cancelled.status, 200, JSON.stringify(cancelled.body));
  assertCommonHeaders(cancelled);
  assert.ok(['cancelled', 'pending'].includes(cancelled.body.cancel), cancelled.body.cancel);
  assert.equal(cancelled.body.task.id, id);
  const task = await waitForEnd(id, key);
  assertVideoTask(task);
  assert.deepEqual([task.body.status, task.body.error.code], ['failed', 'cancelled']);
  assert.deepEqual(await movements(id, key), ['reserve', 'refund']);
  const again = await call('POST', `/tasks/${id}/cancel`, { key });
  assert.deepEqual([again.status, again.body.cancel], [200, 'cancelled']);
  assertConflict(await call('DELETE', `/tasks/${id}/output`, { key }), 'no_output', id);
});

test('a held task is not cancelled', inTestMode, async () => {
  const held = await createTest('test-held-accepted', { key });
  const { task_id: id } = held.body.error.details;
  const refused = await call('POST', `/tasks/${id}/cancel`, { key });
  assertConflict(refused, 'not_cancellable', id);
  assert.equal(refused.body.error.details.reason, 'held');
  assert.equal((await waitForEnd(id, key)).body.status, 'completed');
});

test('a deleted video is gone at once, and its charge stays', inTestMode, async () => {
  const { id } = (await createTest('', { key })).body;
  const { output } = (await waitForEnd(id, key)).body;
  const video = await fetch(output.video_url);
  assert.deepEqual([video.status, video.headers.get('content-type')], [200, 'video/mp4']);
  await video.arrayBuffer();
  for (const _ of ['once', 'twice']) {
    assert.equal((await call('DELETE', `/tasks/${id}/output`, { key })).status, 204);
  }
  const gone = await send(output.video_url, { key: null });
  assert.deepEqual([gone.status, gone.body.error.code], [410, 'output_deleted']);
  const ended = await call('POST', `/tasks/${id}/cancel`, { key });
  assertConflict(ended, 'not_cancellable', id);
  assert.equal(ended.body.error.details.reason, 'ended');
  assert.deepEqual(await movements(id, key), ['reserve', 'capture']);
});

test('nobody else stops a task, or deletes its video', inTestMode, async () => {
  const { id } = (await createTest('', { key })).body;
  assertError(await send(`/tasks/${id}/cancel`, { method: 'POST' }), 'not_found');
  assertError(await send(`/tasks/${id}/output`, { method: 'DELETE' }), 'not_found');
  assertError(await send(`/tasks/${id}/cancel`, { method: 'POST', key: null }), 'unauthorized');
  assert.equal((await waitForEnd(id, key)).body.status, 'completed');
});
