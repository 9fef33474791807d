import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, type TestCustomer } from '../../../test/app.ts';
import { quiet } from '../../../test/database.ts';
import { assertError } from '../../../test/envelope.ts';
import { recordAccepted, scriptedProvider } from '../../../test/task-fixtures.ts';
import { until } from '../../../test/until.ts';
import { askForCancels, readCancel } from '../../attempts/cancel-requests.ts';
import { newId } from '../../kernel/ids.ts';
import type { CancelOutcome } from '../../providers/provider.ts';
import { type Phase, readTask } from '../../tasks/task.ts';
import { type Changes, moveNow } from '../../tasks/transitions.ts';

const api = await openTestApp();
const { db } = api.database;
const customer = await api.customer(100_000);

async function createTask(): Promise<string> {
  return (await customer.create({ prompt: 'a lighthouse at dawn' })).body.id;
}

const cancel = (id: string, by: TestCustomer = customer) =>
  by.send({ method: 'POST', url: `/api/v1/tasks/${id}/cancel` });

async function moveOn(id: string, to: Phase, changes: Changes = {}): Promise<void> {
  await moveNow(db, await readTask(db, id), { to, changes });
}

async function acceptedTask(): Promise<string> {
  const id = await createTask();
  await moveOn(id, 'submitting');
  await recordAccepted(db, id);
  await moveOn(id, 'generating');
  return id;
}

/** Responds to the request to cancel as the provider does. */
async function providerSays(id: string, outcome: CancelOutcome): Promise<void> {
  const provider = { ...scriptedProvider({}), cancel: async () => outcome };
  const providers = new Map([['local', provider]]);
  const ask = async () => {
    await askForCancels({ db, log: quiet, providers });
    return (await readCancel(db, id))?.state;
  };
  await until(ask, (state) => state !== undefined && state !== 'requested');
}

test('the Idempotency-Key of a cancelled task returns this task, and makes no other', async () => {
  const [body, headers] = [{ prompt: 'a lighthouse' }, { 'idempotency-key': 'cancelled' }];
  const { id } = (await customer.create(body, headers)).body;
  await cancel(id);
  const again = await customer.create(body, headers);
  assert.deepEqual([again.status, again.body.id, again.body.status], [200, id, 'failed']);
});

test('a task whose provider refuses goes on, and the response says so', async () => {
  const id = await acceptedTask();
  const sent = cancel(id);
  await providerSays(id, { kind: 'refused', cause: 'secret words of the provider' });
  const { status, body } = await sent;
  const answer = [status, body.cancel, body.refusal, body.task.status];
  assert.deepEqual(answer, [200, 'refused', 'provider_cannot', 'processing']);
  assert.doesNotMatch(JSON.stringify(body), /secret words/);
});

test('a task whose job was faster than its cancel stays completed', async () => {
  const id = await acceptedTask();
  const sent = cancel(id);
  await providerSays(id, { kind: 'accepted' });
  await moveOn(id, 'archiving');
  await moveOn(id, 'completed', { outputObjectId: newId('object') });
  const { body } = await sent;
  const answer = [body.cancel, body.refusal, body.task.status];
  assert.deepEqual(answer, ['refused', 'video_is_finished', 'completed']);
});

test('a task that failed by itself before its cancel was refused has ended', async () => {
  const id = await acceptedTask();
  const sent = cancel(id);
  await until(() => readCancel(db, id));
  await moveOn(id, 'failed', { error: { code: 'provider_failed', message: 'It failed.' } });
  await providerSays(id, { kind: 'refused', cause: 'it has ended' });
  const response = await sent;
  assertError(response, 'not_cancellable');
  const { reason, task } = response.body.error.details;
  assert.deepEqual([reason, task.status, task.credits_refunded], ['ended', 'failed', 250]);
});

// It is the last test: nothing waits in this process after it.
test('a cancel that waits gets its response when the process stops', {
  timeout: 5000,
}, async () => {
  const id = await acceptedTask();
  const sent = cancel(id);
  await until(() => readCancel(db, id));
  api.deps.waiting.stop();
  const { status, body } = await sent;
  assert.deepEqual([status, body.cancel, body.task.status], [200, 'pending', 'processing']);
});
