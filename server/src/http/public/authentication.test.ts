import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp, parseResponse } from '../../../test/app.ts';
import { client } from '../../../test/client.ts';
import { makeCustomer } from '../../../test/customer.ts';
import { assertError } from '../../../test/envelope.ts';
import { newSecret } from '../../accounts/api-keys.ts';
import { clawBack } from '../../ledger/debts.ts';
import { grant } from '../../ledger/ledger.ts';
import { ENDPOINTS } from './public-api.ts';

const api = await openTestApp();
const { db, setClock } = api.database;

const ALL_ROUTES = ENDPOINTS.filter(({ description }) => description.url !== '/models').map(
  ({ description: { method, url } }) => {
    return { method, url: `/api/v1${url.replace(/:\w+/g, 'task_none')}` };
  },
);

const ROUTES = [
  { method: 'POST', url: '/api/v1/video/generations' },
  { method: 'GET', url: '/api/v1/tasks/task_none' },
  { method: 'GET', url: '/api/v1/credits' },
] as const;

async function ask(
  authorization: string | undefined,
  route: (typeof ALL_ROUTES)[number] = ROUTES[2],
) {
  const headers = authorization === undefined ? {} : { authorization };
  return parseResponse(await api.app.inject({ ...route, headers }));
}

test('every operation requires a known API key, and its 401 names the scheme', async () => {
  const { secret } = await makeCustomer(db, 0);
  const flipped = secret.slice(0, -1) + (secret.endsWith('a') ? 'b' : 'a');
  const wrong = [`Basic ${secret}`, `Bearer ${flipped}`, `Bearer ${newSecret()}`];
  for (const route of ALL_ROUTES) {
    for (const authorization of [undefined, ...wrong]) {
      assertError(await ask(authorization, route), 'unauthorized');
    }
  }
});

test('the balance is the paid credits that are not reserved, without promotional ones', async () => {
  const customer = await api.customer(300);
  const { accountId } = customer;
  await grant(db, { accountId, credits: 5000, kind: 'promotional', reference: 'welcome' });
  const credits = async () => (await customer.send({ url: '/api/v1/credits' })).body;
  assert.deepEqual(await credits(), { available_credits: 300, balance_type: 'paid' });
  assert.equal((await customer.create({ prompt: 'a lighthouse at dawn' })).status, 202);
  assert.deepEqual(await credits(), { available_credits: 50, balance_type: 'paid' });
  assertError(await customer.create({ prompt: 'another one' }), 'insufficient_credits');
});

test('expired credits are not available, even if no sweep has run since', async (t) => {
  const { accountId, secret } = await makeCustomer(db, 300);
  const expiresAt = new Date(Date.now() + 3_600_000);
  await grant(db, { accountId, credits: 500, kind: 'paid', reference: accountId, expiresAt });
  const { credits } = client(api.url, secret);
  assert.equal((await credits()).body.available_credits, 800);
  t.after(() => setClock(0));
  await setClock(3601);
  const { status, body } = await credits();
  assert.deepEqual(
    { status, body },
    { status: 200, body: { available_credits: 300, balance_type: 'paid' } },
  );
});

test('an account in debt has no available credits, and its creates get 402', async () => {
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
