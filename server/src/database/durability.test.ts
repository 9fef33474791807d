import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../test/database.ts';
import { UsageError } from '../kernel/errors.ts';
import type { Database } from './database.ts';
import { requireDurableCommits } from './durability.ts';

/** A database whose server has these settings. */
function serverWith(fsync: string, synchronousCommit: string): Database {
  const row = { fsync, synchronous_commit: synchronousCommit };
  return { query: async () => [row] } as unknown as Database;
}

test('a database that may forget commits is refused, with the setting to change', async () => {
  const database = await createTestDatabase(); // its server runs without fsync
  await assert.rejects(requireDurableCommits(database.db), (error) => {
    assert.ok(error instanceof UsageError);
    assert.match(error.message, /fsync is off.*DATABASE_VOLATILE=yes/);
    return true;
  });
  await database.close();
  await assert.rejects(requireDurableCommits(serverWith('on', 'off')), /synchronous_commit is off/);
});

test('a durable database is accepted, with and without synchronous replicas', async () => {
  for (const level of ['local', 'on', 'remote_write', 'remote_apply']) {
    await requireDurableCommits(serverWith('on', level));
  }
});
