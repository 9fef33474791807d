import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeCustomer } from '../../test/customer.ts';
import { openTestDatabase } from '../../test/database.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import { sql } from '../../test/task-fixtures.ts';
import type { Database } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { createAccount } from './accounts.ts';
import {
  createKey,
  hashSecret,
  listKeys,
  looksLikeSecret,
  newSecret,
  revokeKey,
} from './api-keys.ts';
import { openKeyUsage, recentRequests } from './key-usage.ts';

const database = await openTestDatabase();
const { db } = database;
const accountId = await createAccount(db, 'ada@example.com');

test('a secret is fw_live_, 32 random base62 characters and 6 characters of checksum', () => {
  const secrets = Array.from({ length: 1000 }, newSecret);
  for (const secret of secrets) {
    assert.match(secret, /^fw_live_[0-9A-Za-z]{38}$/);
    assert.ok(looksLikeSecret(secret));
  }
  assert.equal(new Set(secrets).size, 1000);
});

test('a secret with one character changed, dropped or added is recognised as invalid', () => {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const place = fc.integer({ min: 8, max: 45 });
  fc.assert(
    fc.property(place, fc.constantFrom(...alphabet), (at, character) => {
      const secret = newSecret();
      const changed = secret.slice(0, at) + character + secret.slice(at + 1);
      assert.equal(looksLikeSecret(changed), changed === secret);
      assert.ok(!looksLikeSecret(secret.slice(0, at) + secret.slice(at + 1)));
      assert.ok(!looksLikeSecret(secret.slice(0, at) + character + secret.slice(at)));
    }),
  );
});

test('the database has the SHA-256 of a secret, and the secret is in no table', async () => {
  const { keyId, secret } = await createKey(db, { accountId, name: 'server' });
  assert.deepEqual(await placesOf(secret), []);
  assert.deepEqual(await placesOf(secret.slice('fw_live_'.length)), []);
  const select = 'select secret_hash from api_keys where id = $1';
  const [row] = await sql<{ secret_hash: Buffer }>(db, select, [keyId]);
  assert.deepEqual(row?.secret_hash, hashSecret(secret));
  assert.deepEqual(await placesOf(keyId), ['public.api_keys'], 'the search itself works');
});

/** The tables in which some column contains the text. */
async function placesOf(text: string): Promise<string[]> {
  const select = `select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname = 'public'`;
  const tables = await sql<{ name: string }>(db, select);
  assert.ok(tables.length > 10);
  const places: string[] = [];
  for (const { name } of tables) {
    const needles = [text, Buffer.from(text).toString('hex')];
    const query = `select 1 from ${name} t where exists (
        select from unnest($1::text[]) needle where strpos(t::text, needle) > 0)`;
    const rows = await sql(db, query, [needles]);
    if (rows.length > 0) places.push(name);
  }
  return places;
}

test('a key that is revoked twice keeps the first time; an unknown one is a usage error', async () => {
  const owner = await createAccount(db, 'edsger@example.com');
  const { keyId } = await createKey(db, { accountId: owner });
  await revokeKey(db, keyId);
  const [before] = await listKeys(db, owner);
  await revokeKey(db, keyId);
  assert.deepEqual(await listKeys(db, owner), [before]);
  await assert.rejects(revokeKey(db, 'key_unknown'), UsageError);
});

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

test('counts that could not be written are kept for the next flush', async () => {
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
  const counts = (await requests(keyId, 1)).map((day) => day.requests);
  assert.deepEqual(counts, [2]);
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
