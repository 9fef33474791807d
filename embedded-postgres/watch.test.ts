import assert from 'node:assert/strict';
import { appendFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from 'pg';
import { openEmbeddedDatabase } from './embedded-postgres.ts';
import { until } from './test/other-process.ts';
import { silentLog as log } from './test/silent-log.ts';
import { MAX_LOG_BYTES } from './watch.ts';

test('the log of a running server is rotated when it is too long, and continues', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'embedded log '));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const database = await openEmbeddedDatabase({ dataDir, log, settings: { fsync: 'off' } });
  t.after(() => database.close());
  const path = join(dataDir, 'postgres', 'postgres.log');
  const sizeBytes = async (name: string) => (await stat(name).catch(() => ({ size: 0 }))).size;
  await appendFile(path, Buffer.alloc(MAX_LOG_BYTES, '.'));
  await until(async () => (await sizeBytes(path)) === 0);
  assert.ok((await sizeBytes(`${path}.1`)) > MAX_LOG_BYTES);

  const client = new Client({ connectionString: database.url });
  await client.connect();
  await assert.rejects(client.query('select * from missing'));
  await client.end();
  await until(async () => (await sizeBytes(path)) > 0);
  assert.ok((await sizeBytes(path)) < 1000);
});
