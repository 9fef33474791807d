import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTestApp, type ParsedResponse, parseResponse } from '../../../test/app.ts';
import { makeCustomer } from '../../../test/customer.ts';
import { assertError } from '../../../test/envelope.ts';
import { until } from '../../../test/until.ts';
import { disableAccount } from '../../accounts/accounts.ts';
import { createKey, newSecret, revokeKey } from '../../accounts/api-keys.ts';
import { grant } from '../../ledger/ledger.ts';
import { ENDPOINTS } from './public-api.ts';

const api = await openTestApp();
after(() => api.close());

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
  const { secret } = await makeCustomer(api.database.db, 0);
  const flipped = secret.slice(0, -1) + (secret.endsWith('a') ? 'b' : 'a');
  const unknown = newSecret();
  for (const route of ALL_ROUTES) {
    for (const authorization of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      secret,
      `Basic ${secret}`,
      `Bearer${secret}`,
      `Bearer ${secret} ${secret}`,
      `Bearer ${secret},`,
      `Bearer ${flipped}`,
      `Bearer ${unknown}`,
      `Bearer ${secret.toLowerCase()}`,
      'Bearer fw_live_',
      "Bearer ' or 1=1 --",
      `Bearer ${'x'.repeat(8000)}`,
    ]) {
      assertError(await ask(authorization, route), 'unauthorized');
    }
  }
});

test('the bearer scheme is case-insensitive', async () => {
  const { secret } = await makeCustomer(api.database.db, 0);
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR ']) {
    assert.equal((await ask(`${scheme} ${secret}`)).status, 200, scheme);
  }
});

test('a revoked, expired or disabled key gets 401 from the next request on', async () => {
  const { db } = api.database;
  const { accountId, keyId, secret } = await makeCustomer(db, 0);
  const expiresAt = new Date(Date.now() + 3_600_000);
  const expiring = await createKey(db, { accountId, expiresAt });
  const lasting = await createKey(db, { accountId });
  const statuses = async () => {
    const secrets = [secret, expiring.secret, lasting.secret];
    return Promise.all(secrets.map(async (one) => (await ask(`Bearer ${one}`)).status));
  };
  assert.deepEqual(await statuses(), [200, 200, 200]);
  await revokeKey(db, keyId);
  assert.deepEqual(await statuses(), [401, 200, 200]);
  await api.database.setClock(3601);
  assert.deepEqual(await statuses(), [401, 401, 200]);
  await disableAccount(db, accountId);
  assert.deepEqual(await statuses(), [401, 401, 401]);
  await api.database.setClock(0);
});

test('the balance is the paid credits that are not reserved, without promotional ones', async () => {
  const { db } = api.database;
  const customer = await api.customer(300);
  const { accountId } = customer;
  await grant(db, { accountId, credits: 5000, kind: 'promotional', reference: 'welcome' });
  const credits = async () => (await customer.send({ url: '/api/v1/credits' })).body;
  assert.deepEqual(await credits(), { available_credits: 300, balance_type: 'paid' });
  assert.equal((await customer.create({ prompt: 'a lighthouse at dawn' })).status, 202);
  assert.deepEqual(await credits(), { available_credits: 50, balance_type: 'paid' });
  assertError(await customer.create({ prompt: 'another one' }), 'insufficient_credits');
});

test('30 requests pass in any 60 seconds; the 31st on any route is 429', async () => {
  const { secret } = await makeCustomer(api.database.db, 0);
  const bearer = `Bearer ${secret}`;
  for (let count = 0; count < 30; count += 1) {
    const { status } = await ask(bearer, ROUTES[count % 3]);
    assert.ok([400, 404, 200].includes(status), String(status));
    if (count === 0) await api.database.setClock(20);
  }
  for (const route of ALL_ROUTES) {
    const refused = await ask(bearer, route);
    assertError(refused, 'rate_limited');
    const seconds = Number(refused.headers['retry-after']);
    assert.ok(seconds > 0 && seconds <= 40, String(seconds));
  }
  // Until a second has passed on the clock of the process, it trusts what it knows of the window.
  const isAdmitted = ({ status }: ParsedResponse) => status === 200;
  await api.database.setClock(61);
  await until(() => ask(bearer), isAdmitted); // the first request was 61 seconds ago
  assertError(await ask(bearer), 'rate_limited');
  await api.database.setClock(82);
  await until(() => ask(bearer), isAdmitted);
  await api.database.setClock(0);
});

test('requests with a bad key or to an unknown route do not count', async () => {
  const { secret } = await makeCustomer(api.database.db, 0);
  const headers = { authorization: `Bearer ${secret}` };
  for (let count = 0; count < 40; count += 1) {
    await api.app.inject({ url: '/api/v1/nowhere', headers });
    await ask(`Bearer ${secret}x`);
  }
  assert.equal((await ask(`Bearer ${secret}`)).status, 200);
});

test('each authenticated response says what is left of the rate window', async () => {
  const { secret } = await makeCustomer(api.database.db, 0);
  const read = async (path: string, authorization = `Bearer ${secret}`) => {
    const { headers } = await api.app.inject({
      url: `/api/v1/${path}`,
      headers: { authorization },
    });
    return headers;
  };
  /** The clock continues during the test, so fewer seconds may be left. */
  const expectLeft = async (path: string, left: number, seconds: number) => {
    const headers = await read(path);
    assert.equal(headers['ratelimit-policy'], '"default";q=30;w=60');
    const [, r, t] = /^"default";r=(\d+);t=(\d+)$/.exec(String(headers.ratelimit)) ?? [];
    assert.equal(Number(r), left, path);
    assert.ok(Number(t) <= seconds && Number(t) > seconds - 20, `${path}: ${t} s`);
    assert.equal(headers['retry-after'], left === 0 ? t : undefined);
  };
  await expectLeft('credits', 29, 60);
  await api.database.setClock(20);
  await expectLeft('tasks/none', 28, 40); // a 404
  await expectLeft('tasks?limit=0', 27, 40);
  for (let count = 0; count < 27; count += 1) await read('credits');
  await expectLeft('credits', 0, 40);
  await expectLeft('tasks', 0, 40); // from memory
  await api.database.setClock(61);
  const refused = await read('credits', 'Bearer junk');
  assert.deepEqual([refused.ratelimit, refused['ratelimit-policy']], [undefined, undefined]);
  await api.database.setClock(0);
});
