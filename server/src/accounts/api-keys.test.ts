import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { createTestDatabase } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
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

const database = await createTestDatabase();
const { db } = database;
const accountId = await createAccount(db, 'ada@example.com');
after(() => database.close());

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
  const [row] = await sql<{ secret_hash: Buffer }>(
    db,
    'select secret_hash from api_keys where id = $1',
    [keyId],
  );
  assert.deepEqual(row?.secret_hash, hashSecret(secret));
  assert.deepEqual(await placesOf(keyId), ['public.api_keys'], 'the search itself works');
});

/** The tables in which some column contains the text. */
async function placesOf(text: string): Promise<string[]> {
  const tables = await sql<{ name: string }>(
    db,
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname = 'public'`,
  );
  assert.ok(tables.length > 10);
  const places: string[] = [];
  for (const { name } of tables) {
    const needles = [text, Buffer.from(text).toString('hex')];
    const rows = await sql(
      db,
      `select 1 from ${name} t where exists (
         select from unnest($1::text[]) needle where strpos(t::text, needle) > 0)`,
      [needles],
    );
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
