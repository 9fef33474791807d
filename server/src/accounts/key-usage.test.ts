import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { makeCustomer } from '../../test/customer.ts';
import { createTestDatabase } from '../../test/database.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import type { Database } from '../database/database.ts';
import { listKeys, revokeKey } from './api-keys.ts';
import { openKeyUsage, recentRequests } from './key-usage.ts';

const database = await createTestDatabase();
const { db } = database;
after(() => database.close());

async function requests(keyId: string, days: number) {
  return (await recentRequests(db, [keyId], days)).get(keyId) ?? [];
}

async function lastUse(accountId: string) {
  const [key] = await listKeys(db, accountId);
  return [key?.last_used_at?.toISOString(), key?.last_used_address];
}

test('requests are counted by day, and two processes add up', async () => {
  const { accountId, keyId } = await makeCustomer(db, 0);
  let now = 0;
  const first = openKeyUsage(db, () => now);
  const second = openKeyUsage(db, () => now);
  await freezeClock(db, 30); // 2030-01-01T00:00:30Z
  first.note(keyId, '203.0.113.77');
  first.note(keyId, '203.0.113.78');
  now = 10_000;
  second.note(keyId, '198.51.100.1');
  await second.flush();
  await first.flush();
  await first.flush(); // nothing is left to write
  assert.deepEqual(await requests(keyId, 2), [
    { day: '2029-12-31', requests: 0 },
    { day: '2030-01-01', requests: 3 },
  ]);
  const newest = ['2030-01-01T00:00:30.000Z', '198.51.100.0/24'];
  assert.deepEqual(await lastUse(accountId), newest, 'an earlier use does not replace a later one');
});

test('what could not be written is kept for the next time', async () => {
  const { keyId } = await makeCustomer(db, 0);
  let isDown = true;
  const failing: Pick<Database, 'query'> = {
    query: (...args) => (isDown ? Promise.reject(new Error('down')) : db.query(...args)),
  };
  const usage = openKeyUsage(failing);
  usage.note(keyId, '203.0.113.77');
  await assert.rejects(usage.flush(), /down/);
  usage.note(keyId, '203.0.113.77');
  isDown = false;
  await usage.flush();
  assert.deepEqual(
    (await requests(keyId, 1)).map((day) => day.requests),
    [2],
  );
});

test('the address of a revoked key is not written', async () => {
  const { accountId, keyId } = await makeCustomer(db, 0);
  const usage = openKeyUsage(db);
  usage.note(keyId, '203.0.113.77');
  await revokeKey(db, keyId);
  await usage.flush();
  const [at, address] = await lastUse(accountId);
  assert.ok(at);
  assert.equal(address, null);
});
