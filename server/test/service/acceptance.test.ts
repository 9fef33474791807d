import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { audit } from '../../src/operator/audit.ts';
import { createTestDatabase } from '../database.ts';
import { keepRunning } from '../fire/restarting-process.ts';
import { realBucket } from '../storage/real-bucket.ts';
import { simulatedBucket } from '../storage/simulated-bucket.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { countOf, makeAccounts, runSuite, serveMedia } from './acceptance-suite.ts';
import { startLoadBalancer } from './load-balancer.ts';
import { freePort, startServiceProcess } from './service-process.ts';

test('the black-box suite passes on a real service, and skips nothing', async () => {
  const database = await createTestDatabase();
  await using folder = await temporaryFolder();
  const host = await serveMedia();
  const receiverPort = await freePort();
  const service = await startServiceProcess({
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    OUTBOUND_ALLOW: `localhost:${host.port},localhost:${receiverPort}`,
  });
  try {
    const { code, report } = await runSuite({
      ...(await makeAccounts(database)),
      FRAMEWRIGHT_URL: service.url,
      FRAMEWRIGHT_MEDIA: host.url(''),
      FRAMEWRIGHT_RECEIVER: `http://localhost:${receiverPort}`,
      FRAMEWRIGHT_RECEIVER_PORT: String(receiverPort),
      FRAMEWRIGHT_PATIENCE_SECONDS: '120',
    });
    assert.equal(code, 0, report);
    assert.ok(countOf(report, 'pass') > 100, report);
    assert.equal(countOf(report, 'skipped'), 0, report);
  } finally {
    await service.kill('SIGTERM');
    await host.close();
    await database.close();
  }
});

/** Seconds between two kills. */
const KILL_SECONDS = 3;

/** Starts two processes of the role, each again when it is killed. */
function keepTwo(role: string, env: Record<string, string>, started: typeof noteStart) {
  return [`${role} 1`, `${role} 2`].map((name) =>
    keepRunning(name, async () => {
      const service = await startServiceProcess({ ...env, ROLES: role });
      started(name, service.url);
      return service;
    }),
  );
}

function noteStart(_name: string, _url: string): void {}

test('the suite passes on two APIs and two workers with S3, while each of them is killed', {
  skip: process.env.FRAMEWRIGHT_CLUSTER !== 'yes' && 'FRAMEWRIGHT_CLUSTER=yes runs it',
}, async (t) => {
  const database = await createTestDatabase();
  await using folder = await temporaryFolder();
  await using balancer = await startLoadBalancer();
  const simulated = await simulatedBucket();
  await using _s3 = simulated.s3;
  const bucket = (await realBucket('cluster')) ?? simulated;
  const host = await serveMedia();
  const receiverPort = await freePort();
  const url = `http://127.0.0.1:${balancer.port}`;
  const env = {
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    PUBLIC_URL: url,
    STORAGE_URL: bucket.url,
    AWS_ACCESS_KEY_ID: bucket.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: bucket.credentials.secretAccessKey,
    OUTBOUND_ALLOW: `localhost:${host.port},localhost:${receiverPort}`,
  };
  const apis = keepTwo('api', env, balancer.use);
  const workers = keepTwo('worker', env, noteStart);
  const all = [...workers, ...apis];
  const over = new AbortController();
  const killInTurn = async () => {
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      await delay(KILL_SECONDS * 1000, undefined, { signal: over.signal }).catch(() => {});
      const victim = all[turn % all.length];
      // The suite expects 202, and a create that was sent twice gets 200.
      if (victim && apis.includes(victim)) await balancer.drain(victim.name);
      await victim?.kill();
      await victim?.current();
    }
  };
  try {
    await Promise.all(all.map((kept) => kept.current()));
    const killing = killInTurn();
    const { code, report } = await runSuite({
      ...(await makeAccounts(database)),
      FRAMEWRIGHT_URL: url,
      FRAMEWRIGHT_MEDIA: host.url(''),
      FRAMEWRIGHT_RECEIVER: `http://localhost:${receiverPort}`,
      FRAMEWRIGHT_RECEIVER_PORT: String(receiverPort),
      FRAMEWRIGHT_PATIENCE_SECONDS: '120',
    }).finally(() => over.abort());
    await killing;
    t.diagnostic(`kills: ${all.map(({ name, kills }) => `${name} ${kills}`).join(', ')}`);
    assert.equal(code, 0, report);
    assert.ok(countOf(report, 'pass') > 100, report);
    assert.equal(countOf(report, 'skipped'), 0, report);
    assert.ok(
      all.every(({ kills }) => kills > 0),
      'each process was killed',
    );
    assert.deepEqual(await audit(database.db), { ok: true, problems: [] });
  } finally {
    await Promise.all(all.map((kept) => kept.stop()));
    await host.close();
    await database.close();
  }
});
