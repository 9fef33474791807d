import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { S3Fault } from '../../../simulators/s3/faults.ts';
import type { SimulatedS3 } from '../../../simulators/s3/s3.ts';
import type { Database } from '../../src/database/database.ts';
import { client, SMALLEST } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { imageBytes } from '../media/media-fixture.ts';
import { type MediaHost, startMediaHost } from '../media/media-host.ts';
import { type ServiceProcess, startServiceProcess } from '../service/service-process.ts';
import { simulatedBucket } from '../storage/simulated-bucket.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { assertSound, loadDuring, recovered } from './load.ts';

const FAULTS: S3Fault[] = [
  { kind: 'slow', method: 'PUT' },
  { kind: 'slow_down', method: 'PUT' },
  { kind: 'expired', method: 'PUT' },
  { kind: 'altered', method: 'PUT' },
  { kind: 'lost_response', method: 'PUT' },
  { kind: 'cut', method: 'PUT' },
  { kind: 'no_bucket', method: 'GET', times: 2 },
  { kind: 'cut', method: 'GET' },
  { kind: 'altered', method: 'GET' },
];

test('a store that fails in every way: no request gets a 500, and no task is lost', async (t) => {
  await using folder = await temporaryFolder();
  const bucket = await simulatedBucket();
  await using s3 = bucket.s3;
  const database = await createTestDatabase();
  const { db, url } = database;
  const host = await startMediaHost();
  t.after(() => host.close());
  await using service = await startServiceProcess({
    DATABASE_URL: url,
    DATA_DIR: folder.path,
    STORAGE_URL: bucket.url,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'testsecret',
    OUTBOUND_ALLOW: `localhost:${host.port}`,
  });
  const load = await loadDuring({ db, service, clients: 3 }, async () => {
    for (const fault of FAULTS) s3.faults.plan(fault);
    await recovered(db, service);
  });
  await assertSound(db, load);
  assert.deepEqual(s3.faults.pending(), [], 'each fault was met');
  for (const what of ['NoSuchBucket', 'ExpiredToken', 'SlowDown']) {
    assert.match(service.output(), new RegExp(what));
  }
  await assertNamesNoProvider(db, service, s3, host);
  await service.kill('SIGTERM');
  await database.close();
});

/** A create whose file the store does not take, at a provider that was never asked. */
async function assertNamesNoProvider(
  db: Database,
  service: ServiceProcess,
  s3: SimulatedS3,
  host: MediaHost,
): Promise<void> {
  const bytes = await imageBytes('png', 640, 360);
  const imageUrl = host.serve('/frame.png', { kind: 'bytes', bytes });
  const customer = client(service.url, (await makeCustomer(db, 1000)).secret);
  const body = { ...SMALLEST, mode: 'image-to-video', image_url: imageUrl };
  const key = crypto.randomUUID();
  s3.faults.plan({ kind: 'slow_down', method: 'PUT', times: 1000 });
  const refused = await customer.create(body, key);
  s3.faults.clear();
  const { code, message, details } = refused.body.error;
  assert.deepEqual([refused.status, code, details.credits], [503, 'service_busy', 'refunded']);
  const { body: task } = await customer.task(details.task_id);
  assert.deepEqual([task.status, task.error.code], ['failed', 'not_accepted']);
  for (const text of [message, task.error.message]) {
    assert.match(text, /could not be started.*same Idempotency-Key/);
    assert.doesNotMatch(text, /provider/i);
  }
  assert.match(service.output(), /SlowDown/);
  assert.equal((await customer.create(body, key)).status, 202);
}
