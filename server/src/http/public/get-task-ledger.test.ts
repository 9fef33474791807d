import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestApp, type TestApp, type TestCustomer } from '../../../test/app.ts';
import { assertError } from '../../../test/envelope.ts';
import { taskMaker } from '../../../test/website/own-tasks.ts';

let api: TestApp;
let customer: TestCustomer;
let make: ReturnType<typeof taskMaker>;
before(async () => {
  api = await openTestApp();
  make = taskMaker(api.deps);
  customer = await api.customer(100_000);
});
after(() => api.close());

async function movements(id: string, by = customer): Promise<string[]> {
  const { status, body } = await by.send({ url: `/api/v1/tasks/${id}/ledger` });
  assert.equal(status, 200, JSON.stringify(body));
  let last = '';
  return body.data.map((movement: Record<string, string>) => {
    assert.deepEqual(Object.keys(movement), ['created_at', 'kind', 'reason', 'credits']);
    assert.ok((movement.created_at ?? '') >= last, 'the oldest first');
    last = movement.created_at ?? '';
    return `${movement.reason} ${movement.credits} ${movement.kind}`;
  });
}

test('the ledger of a task has its reserve, and its capture or refund once it has ended', async () => {
  const { accountId } = customer;
  assert.deepEqual(await movements(await make(accountId)), ['reserve 250 paid']);
  const completed = await make(accountId, { ended: 'completed' });
  assert.deepEqual(await movements(completed), ['reserve 250 paid', 'capture 250 paid']);
  const failed = await make(accountId, { ended: 'provider_failed' });
  assert.deepEqual(await movements(failed), ['reserve 250 paid', 'refund 250 paid']);
});

test('the ledger of a task of another account or surface is 404, and a long id 400', async () => {
  const id = await make(customer.accountId);
  const web = await make(customer.accountId, { surface: 'web' });
  const other = await api.customer(0);
  const url = `/api/v1/tasks/${id}/ledger`;
  assertError(await other.send({ url }), 'not_found');
  for (const missing of [web, 'task_none', '%00', `${id}%20`]) {
    assertError(await customer.send({ url: `/api/v1/tasks/${missing}/ledger` }), 'not_found');
  }
  const long = `/api/v1/tasks/${'x'.repeat(121)}/ledger`;
  assertError(await customer.send({ url: long }), 'invalid_request', { field: 'id' });
  assertError(await customer.send({ url, headers: { authorization: '' } }), 'unauthorized');
});
