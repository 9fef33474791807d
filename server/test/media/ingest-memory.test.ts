import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { INPUT_BYTES } from '../../src/catalog/limits.ts';
import { client } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { imageBytes } from './media-fixture.ts';
import { startMediaHost } from './media-host.ts';
import { FRAMES } from './refused-media.ts';

const GROWTH_BYTES = 100 * 2 ** 20;
const skip = process.platform === 'linux' ? false : 'memory is read from /proc';

/** The most resident memory since the last call. */
async function peakBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  await writeFile(`/proc/${pid}/clear_refs`, '5');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

test('exactly 256 MB are ingested, and memory stays flat meanwhile', { skip }, async (t) => {
  const [database, host, folder] = await Promise.all([
    createTestDatabase(),
    startMediaHost(),
    temporaryFolder(),
  ]);
  const service = await startServiceProcess({
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    OUTBOUND_ALLOW: `localhost:${host.port}`,
    CREATE_WAIT_SECONDS: '120',
  });
  t.after(async () => {
    await service.kill('SIGTERM');
    await host.close();
    await database.close();
    await folder[Symbol.asyncDispose]();
  });
  const bytes = Buffer.alloc(INPUT_BYTES); // decoders ignore bytes after a picture's end
  (await imageBytes('png')).copy(bytes);
  const image_url = host.serve('/picture.png', { kind: 'bytes', bytes });
  const { secret } = await makeCustomer(database.db, 60);

  await peakBytes(service.process.pid);
  const before = await peakBytes(service.process.pid);
  const { status, body } = await client(service.url, secret).create({ ...FRAMES, image_url });
  const peak = await peakBytes(service.process.pid);
  assert.equal(status, 202, JSON.stringify(body));
  assert.ok(peak - before < GROWTH_BYTES, `it grew by ${(peak - before) / 2 ** 20} MiB`);
});
