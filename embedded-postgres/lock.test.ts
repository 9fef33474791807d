import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
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

test('the lock of a killed process is released', async (t) => {
  const path = await lockFile(t);
  const module = JSON.stringify(new URL('./lock.ts', import.meta.url).href);
  const program = `
    import { takeLock } from ${module};
    await takeLock(${JSON.stringify(path)}, 1);
    process.stdout.write('held');
    setInterval(() => {}, 1000);
  `;
  const holder = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  await assert.rejects(takeLock(path, 0), EmbeddedPostgresError);
  const ended = once(holder, 'exit');
  holder.kill('SIGKILL');
  await ended;
  (await takeLock(path, 60))();
});
