import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { openTestApp, type TestCustomer } from '../../test/app.ts';
import { quiet } from '../../test/database.ts';
import { assertError } from '../../test/envelope.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import { sql } from '../../test/task-fixtures.ts';
import { balances } from '../ledger/ledger.ts';
import { createProviderBreaker } from '../providers/circuit-breaker/breaker.ts';
import { endPause, pause } from '../providers/circuit-breaker/pauses.ts';

const BODY = { prompt: 'A lighthouse at dusk' };
const CREDITS = 10_000;

let customer: TestCustomer;

const api = await openTestApp();
const { db } = api.database;
beforeEach(async () => {
  await freezeClock(db, 0);
  await sql(db, 'delete from provider_outages');
  await sql(db, 'delete from pauses');
  customer = await api.customer(CREDITS);
});

/** The provider announces that it takes no jobs for this long. */
async function close(provider: string, retryAfterSeconds: number): Promise<void> {
  const busy = { kind: 'rejected', fault: 'busy', cause: '429', retryAfterSeconds } as const;
  await createProviderBreaker({ db, log: quiet }).observe(provider, busy, false);
}

async function assertRefused(retryAfter: number, key: string = crypto.randomUUID()) {
  const response = await customer.create(BODY, { 'idempotency-key': key });
  assertError(response, 'service_busy');
  const details = { reason: 'not_taken', charged: 'no', retry: 'same_key' };
  assert.deepEqual(response.body.error.details, details);
  assert.equal(Number(response.headers['retry-after']), retryAfter);
}

async function assertNothingReserved(): Promise<void> {
  const { paid } = await balances(db, customer.accountId);
  assert.deepEqual(paid, { available: CREDITS, reserved: 0 });
  for (const table of ['tasks', 'idempotency_keys']) {
    const rows = await sql(db, `select from ${table} where account_id = $1`, [customer.accountId]);
    assert.equal(rows.length, 0, table);
  }
}

test('while the provider of new tasks is closed, a create is 503 and reserves nothing', async () => {
  await close('local', 42);
  await assertRefused(42, 'one');
  await freezeClock(db, 41.5);
  await assertRefused(1, 'one');
  await assertNothingReserved();
  await sql(db, 'delete from provider_outages');
  const taken = await customer.create(BODY, { 'idempotency-key': 'one' });
  assert.equal(taken.status, 202, 'the key was not bound');
});

test('after the Retry-After one create passes, then one every 5 s', async () => {
  await close('local', 10);
  await freezeClock(db, 10);
  assert.equal((await customer.create(BODY)).status, 202);
  await assertRefused(2);
  await freezeClock(db, 15);
  assert.equal((await customer.create(BODY)).status, 202);
});

test('a create without credits does not take the turn of the create that may pass', async () => {
  await close('local', 10);
  await freezeClock(db, 10);
  const poor = await api.customer(0);
  assertError(await poor.create(BODY), 'insufficient_credits');
  assert.equal((await customer.create(BODY)).status, 202);
  await assertRefused(2);
});

test('another provider that is closed changes nothing', async () => {
  await close('ark', 42);
  await db.transaction((tx) => pause(tx, 'fal', 'maintenance'));
  assert.equal((await customer.create(BODY)).status, 202);
});

test('paused creates, and creates for a paused provider, are 503 until they are resumed', async () => {
  for (const subject of ['creates', 'local']) {
    await db.transaction((tx) => pause(tx, subject, 'maintenance'));
    await assertRefused(30);
    await assertNothingReserved();
    await db.transaction((tx) => endPause(tx, subject));
  }
  assert.equal((await customer.create(BODY)).status, 202);
});

test('while the provider is closed, a known key gets its task, and a bad request its 400', async () => {
  const created = await customer.create(BODY, { 'idempotency-key': 'known' });
  await close('local', 42);
  const replayed = await customer.create(BODY, { 'idempotency-key': 'known' });
  assert.deepEqual([replayed.status, replayed.body.id], [200, created.body.id]);
  assertError(await customer.create({ prompt: 'x' }), 'invalid_request');
  const task = await customer.send({ url: `/api/v1/tasks/${created.body.id}` });
  assert.equal(task.status, 200);
});
