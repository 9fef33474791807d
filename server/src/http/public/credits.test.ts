import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestApp } from '../../../test/app.ts';
import { client } from '../../../test/client.ts';
import { makeCustomer } from '../../../test/customer.ts';
import { clawBack } from '../../ledger/debts.ts';
import { grant } from '../../ledger/ledger.ts';

const api = await openTestApp();
after(() => api.close());

test('credits that have expired are not available, also if no process has swept', async (t) => {
  const { db } = api.database;
  const { accountId, secret } = await makeCustomer(db, 300);
  const expiresAt = new Date(Date.now() + 3_600_000);
  await grant(db, { accountId, credits: 500, kind: 'paid', reference: accountId, expiresAt });
  const { credits } = client(api.url, secret);
  assert.equal((await credits()).body.available_credits, 800);
  t.after(() => api.database.setClock(0));
  await api.database.setClock(3601);
  const { status, body } = await credits();
  assert.deepEqual(
    { status, body },
    { status: 200, body: { available_credits: 300, balance_type: 'paid' } },
  );
});

test('an account in debt has no available credits, and its creates get 402', async () => {
  const { db } = api.database;
  const { accountId, secret } = await makeCustomer(db, 0);
  await grant(db, { accountId, credits: 500, kind: 'paid', reference: accountId });
  const named = { payment: accountId, reference: accountId, note: 'chargeback' };
  const { credits, create } = client(api.url, secret);
  assert.equal((await create({ prompt: 'a lighthouse' }, crypto.randomUUID())).status, 202);
  await clawBack(db, { accountId, credits: 500, ...named }, async () => {});
  await grant(db, { accountId, credits: 150, kind: 'paid', reference: `${accountId}-2` });
  const { status, body } = await create({ prompt: 'a lighthouse' }, crypto.randomUUID());
  assert.deepEqual([status, body.error?.code], [402, 'insufficient_credits']);
  assert.equal((await credits()).body.available_credits, 0);
});
