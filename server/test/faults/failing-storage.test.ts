import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { S3Fault } from '../../../simulators/s3/faults.ts';
import { createTestDatabase } from '../database.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { simulatedBucket } from '../storage/simulated-bucket.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { assertSound, loadDuring, recoverySeconds, summary } from './load.ts';

const FAULTS: S3Fault[] = [
  { kind: 'slow', method: 'PUT', seconds: 1 },
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
  await using service = await startServiceProcess({
    ...{ DATABASE_URL: url, DATA_DIR: folder.path, STORAGE_URL: bucket.url },
    ...{ AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'testsecret' },
  });
  let recovery = { ready: 0, completed: 0 };
  const load = await loadDuring({ db, service, clients: 3 }, async () => {
    for (const fault of FAULTS) s3.faults.plan(fault);
    recovery = await recoverySeconds(db, service);
  });
  t.diagnostic(summary(load, recovery));
  await assertSound(db, load);
  assert.deepEqual(s3.faults.pending(), [], 'each fault was met');
  for (const what of ['NoSuchBucket', 'ExpiredToken', 'SlowDown']) {
    assert.match(service.output(), new RegExp(what));
  }
  await service.kill('SIGTERM');
  await database.close();
});
