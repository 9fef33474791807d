import assert from 'node:assert/strict';
import { appendFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openEmbeddedDatabase } from './embedded-postgres.ts';
import { query, until } from './test/other-process.ts';
import { silentLog as log } from './test/silent-log.ts';
import { temporaryFolder } from './test/temporary-folder.ts';
import { MAX_LOG_BYTES } from './watch.ts';

test('the log of a running server is rotated when it is too long, and continues', async (t) => {
  const dataDir = await temporaryFolder(t);
  const database = await openEmbeddedDatabase({ dataDir, log, settings: { fsync: 'off' } });
  t.after(() => database.close());
  const path = join(dataDir, 'postgres', 'postgres.log');
  const sizeBytes = async (name: string) => (await stat(name).catch(() => ({ size: 0 }))).size;
  await appendFile(path, Buffer.alloc(MAX_LOG_BYTES, '.'));
  await until(async () => (await sizeBytes(path)) === 0);
  assert.ok((await sizeBytes(`${path}.1`)) > MAX_LOG_BYTES);

  await assert.rejects(query(database.url, 'select * from missing'));
  await until(async () => (await sizeBytes(path)) > 0);
  assert.ok((await sizeBytes(path)) < 1000);
});
