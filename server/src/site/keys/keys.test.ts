import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertError } from '../../../test/envelope.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { openTestWebsite, type TestVisitor } from '../../../test/website/website.ts';
import { createKey } from '../../accounts/api-keys.ts';
import { openKeyUsage } from '../../accounts/key-usage.ts';
import type { ApiKey } from './keys.ts';

const KEYS = '/console/api/keys';

const website = await openTestWebsite();
const { db } = website.database;

async function listed(visitor: TestVisitor): Promise<ApiKey[]> {
  return (await visitor.get(KEYS)).body.items;
}

function balanceWith(secret: string) {
  const headers = { authorization: `Bearer ${secret}` };
  return website.stranger.send({ method: 'GET', url: '/api/v1/credits', headers });
}

test('a key is made, used, renamed, capped and revoked by its account', async () => {
  const visitor = await website.signIn({ credits: 40 });
  const name = 'Bühne "1" <script>';
  const { status, body } = await visitor.write(KEYS, { name, monthly_cap: 10 });
  assert.equal(status, 201);
  assert.match(body.secret, /^fw_live_/);
  assert.equal((await balanceWith(body.secret)).body.available_credits, 40);
  const [made] = (await listed(visitor)).filter(({ id }) => id === body.key.id);
  assert.deepEqual(made, body.key);
  assert.deepEqual([made?.name, made?.monthly_cap, made?.spent_this_month], [name, 10, 0]);
  assert.ok(!JSON.stringify(made).includes(body.secret));
  const url = `${KEYS}/${body.key.id}`;
  const renamed = await visitor.write(url, { name: ' stage ', monthly_cap: null }, 'PATCH');
  assert.deepEqual([renamed.body.name, renamed.body.monthly_cap], ['stage', null]);
  const revoked = await visitor.delete(url);
  assert.ok(revoked.body.revoked_at);
  assertError(await balanceWith(body.secret), 'unauthorized');
  assert.equal((await visitor.delete(url)).body.revoked_at, revoked.body.revoked_at);
});

test('the expiry of a key is set, changed and removed; an expired key stays expired', async () => {
  const visitor = await website.signIn({ credits: 40 });
  const { body } = await visitor.write(KEYS, { name: 'ci' });
  const url = `${KEYS}/${body.key.id}`;
  const expire = (expires_at: unknown) => visitor.write(url, { expires_at }, 'PATCH');
  for (const at of ['2099-01-31T00:00:00.000Z', '2098-01-31T00:00:00.000Z', null]) {
    assert.equal((await expire(at)).body.expires_at, at);
  }
  for (const wrong of ['2020-01-01', 'tomorrow', '']) {
    const { error } = (await expire(wrong)).body;
    assert.deepEqual([error.code, error.details.field], ['invalid_request', 'expires_at'], wrong);
  }
  const changed = website.outbox.length;
  await website.sendMails();
  const told = website.outbox.slice(changed).map(({ text }) => /The expiry of/.test(text));
  assert.equal(told.filter(Boolean).length, 3);
  const update = `update api_keys set expires_at = clock_now() - interval '1 minute' where id = $1`;
  await sql(db, update, [body.key.id]);
  for (const at of ['2099-01-31T00:00:00Z', null]) assertError(await expire(at), 'invalid_request');
  assertError(await balanceWith(body.secret), 'unauthorized');
});

test('a test key spends test credits, which the account refills', async () => {
  const visitor = await website.signIn({ credits: 40 });
  const { body } = await visitor.write(KEYS, { name: 'ci', mode: 'test' });
  assert.match(body.secret, /^fw_test_/);
  assert.equal(body.key.mode, 'test');
  assert.equal((await balanceWith(body.secret)).body.available_credits, 100_000);
  assert.deepEqual((await visitor.get(`${KEYS}?mode=test`)).body.items, [body.key]);
  const refilled = await visitor.write('/console/api/test-credits', {});
  assert.deepEqual([refilled.status, refilled.body], [200, { test_credits: 100_000 }]);
});

test('a wrong name, time or cap is refused with its field', async () => {
  const visitor = await website.signIn();
  const field = async (body: object) => (await visitor.write(KEYS, body)).body.error.details.field;
  const name = 'ci';
  const invisible = ['\u200b', '\ufeff \u2060', '\u3164', '\u2800', '\u00ad\ufe0f'];
  for (const wrong of ['', '  ', 'a\nb', 'x'.repeat(101), 5, ...invisible]) {
    assert.equal(await field({ name: wrong }), 'name', JSON.stringify(wrong));
  }
  for (const expires_at of ['tomorrow', '2020-01-01', '2030-13-01']) {
    assert.equal(await field({ name, expires_at }), 'expires_at');
  }
  for (const monthly_cap of [-1, 1.5, 1e12, '5']) {
    assert.equal(await field({ name, monthly_cap }), 'monthly_cap');
  }
  assert.equal(await field({ name, account_id: 'acct_1' }), 'account_id');
  assert.equal(await field({}), 'name');
});

test('parallel creates never give an account more valid keys than it may have', async () => {
  const visitor = await website.signIn();
  const { body } = await visitor.get(KEYS);
  const { accountId } = visitor;
  for (let i = body.items.length; i < body.max_keys - 2; i += 1) await createKey(db, { accountId });
  const creates = Array.from({ length: 6 }, () => visitor.write(KEYS, { name: 'one more' }));
  const statuses = (await Promise.all(creates)).map(({ status }) => status);
  assert.deepEqual(statuses.sort(), [201, 201, 400, 400, 400, 400]);
  const [newest] = await listed(visitor);
  await visitor.delete(`${KEYS}/${newest?.id}`);
  assert.equal((await visitor.write(KEYS, { name: 'after a revoke' })).status, 201);
});

test('the requests of a key are shown by day, and its last use', async () => {
  const visitor = await website.signIn();
  const { key } = (await visitor.write(KEYS, { name: 'counted' })).body;
  const usage = openKeyUsage(db);
  usage.note(key.id, '203.0.113.77');
  usage.note(key.id, '203.0.113.77');
  await usage.flush();
  const [shown] = await listed(visitor);
  assert.equal(shown?.last_used_network, '203.0.113.0/24');
  assert.equal(shown?.requests.at(-1), 2);
  assert.equal(shown?.requests.length, 30);
  const { days } = (await visitor.get(`${KEYS}/${key.id}/requests`)).body;
  assert.equal(days.length, 90);
  const today = new Date().toISOString().slice(0, 10);
  assert.deepEqual(days.at(-1), { day: today, requests: 2 });
});
