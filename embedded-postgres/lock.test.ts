import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { EmbeddedPostgresError } from './error.ts';
import { takeLock } from './lock.ts';
import { temporaryFolder } from './test/temporary-folder.ts';

async function lockFile(t: TestContext): Promise<string> {
  return join(await temporaryFolder(t), 'lock');
}

test('only one caller holds the lock at a time, also within one process', async (t) => {
  const path = await lockFile(t);
  let holders = 0;
  const turn = async () => {
    const unlock = await takeLock(path, 60);
    holders += 1;
    assert.equal(holders, 1);
    await new Promise((resolve) => setImmediate(resolve));
    holders -= 1;
    unlock();
  };
  await Promise.all(Array.from({ length: 10 }, turn));
});

test('taking a lock that is not released in time fails with EmbeddedPostgresError', async (t) => {
  const path = await lockFile(t);
  const unlock = await takeLock(path, 1);
  await assert.rejects(takeLock(path, 0), EmbeddedPostgresError);
  unlock();
  (await takeLock(path, 0))();
});
