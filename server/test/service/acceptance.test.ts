import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/api-keys.ts';
import { grant } from '../../src/ledger/ledger.ts';
import { audit } from '../../src/operator/audit.ts';
import { createTestDatabase } from '../database.ts';
import { samplesOfPage } from '../docs/reader.ts';
import { longTest } from '../long.ts';
import { ROOT } from '../repository/sources.ts';
import { realBucket } from '../storage/real-bucket.ts';
import { simulatedBucket } from '../storage/simulated-bucket.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { countOf, makeAccounts, runSuite, serveMedia } from './acceptance-suite.ts';
import { type LoadBalancer, startLoadBalancer } from './load-balancer.ts';
import {
  freePort,
  type ServiceProcess,
  serviceEnvironment,
  startServiceProcess,
} from './service-process.ts';

/** A service that lets clients name hosts on these ports of this machine. */
async function startService(ports: number[]) {
  const database = await createTestDatabase();
  const folder = await temporaryFolder();
  const allowed = ports.map((port) => `localhost:${port}`).join(',');
  const env = { DATABASE_URL: database.url, DATA_DIR: folder.path, OUTBOUND_ALLOW: allowed };
  const service = await startServiceProcess(env);
  const close = async () => {
    await service.kill('SIGTERM');
    await database.close();
    await folder[Symbol.asyncDispose]();
  };
  return { database, env, url: service.url, close };
}

/** Pages for callers; their commands are typed into one shell. */
const PAGES = ['api', 'uploads', 'test-keys', 'webhooks'];

/** Ends the receiver that the last page starts. */
const UNTIL_GENUINE = '\nuntil grep genuine received; do sleep 0.1; done; kill $!';

/** What they print, in this order. */
const PRINTED = [
  /"id":"video-2.0-fast"/,
  /"enough":true/,
  /"status":"processing"/,
  /preference-applied: wait=30/,
  /"status":"completed"/,
  /idempotent-replayed: true/,
  /"next_cursor":null/,
  /"reason":"reserve".*"reason":"capture"/,
  /"available_credits":\d+/,
  /204 No Content/,
  /ratelimit-policy: "default";q=30;w=60/,
  /"cancel":"(cancelled|pending)"/,
  /"media_type":"image\/png"/,
  /"mode":"image-to-video"/,
  /"reason":"no_bucket"/,
  /fw_test_[0-9A-Za-z]{20}/,
  /"credits":"held"/,
  /"status":"completed"/,
  /"available_credits":100000/,
  /"url":"https:\/\/example.com\/framewright"/,
  /"secret":"whsec_/,
  /genuine \{"type":"webhook.test"/,
];

describe('on a service', { concurrency: true }, () => {
  let service: Awaited<ReturnType<typeof startService>>;
  let host: Awaited<ReturnType<typeof serveMedia>>;
  const receivers: [number, number] = [0, 0];
  before(async () => {
    host = await serveMedia();
    receivers[0] = await freePort();
    receivers[1] = await freePort();
    service = await startService([host.port, ...receivers]);
  });
  after(async () => {
    await service.close();
    await host.close();
  });

  test('the black-box suite passes, and skips nothing', async () => {
    const { code, report } = await runSuite({
      ...(await makeAccounts(service.database)),
      ...receiverOf(receivers[0]),
      FRAMEWRIGHT_URL: service.url,
      FRAMEWRIGHT_MEDIA: host.url(''),
      FRAMEWRIGHT_PATIENCE_SECONDS: '120',
    });
    assert.equal(code, 0, report);
    assert.ok(countOf(report, 'pass') > 100, report);
    assert.equal(countOf(report, 'skipped'), 0, report);
  });

  longTest('the commands of the pages for callers do what the pages say', async () => {
    await using folder = await temporaryFolder();
    const fileOf = (name: string) => path.join(folder.path, name);
    const { db } = service.database;
    const accountId = await createAccount(db, 'you@localhost');
    await grant(db, { accountId, credits: 10_000, kind: 'paid', reference: 'walk' });
    const { secret: key } = await createKey(db, { accountId });
    const samples = PAGES.flatMap((name) => samplesOfPage(`docs/customers/${name}.md`));
    const [genuine = '', receiver = ''] = samples
      .filter(({ info }) => /^js\b/.test(info))
      .map(({ text }) => text);
    await writeFile(fileOf('genuine.mjs'), genuine);
    await writeFile(fileOf('receiver.mjs'), receiver.replace('8787', `${receivers[1]}`));
    await symlink(path.join(ROOT, 'acceptance/media/picture.png'), fileOf('picture.png'));
    const commands = samples
      .flatMap(({ info, text }) => (info === 'sh' ? text : []))
      .join('\n')
      .replace(/^export FRAMEWRIGHT_API_KEY=.*/m, `export FRAMEWRIGHT_API_KEY=${key}`)
      .replaceAll('http://127.0.0.1:8080', service.url)
      .replaceAll('localhost:8787', `localhost:${receivers[1]}`)
      .replaceAll('npx --no-install framewright', `node ${ROOT}server/src/framewright.ts`)
      .replace('node receiver.mjs &', 'node receiver.mjs > received &');
    const PATH = `${path.dirname(process.execPath)}:${process.env.PATH}`;
    const { stdout } = await promisify(execFile)('sh', ['-ec', commands + UNTIL_GENUINE], {
      cwd: folder.path,
      env: { ...serviceEnvironment(service.env), PATH },
      timeout: 120_000,
    });
    let rest = stdout;
    for (const printed of PRINTED) {
      const [found] = printed.exec(rest) ?? assert.fail(`${printed} is not in ${stdout}`);
      rest = rest.slice(rest.indexOf(found) + found.length);
    }
  });
});

/** Where the suite receives webhooks. */
function receiverOf(port: number) {
  const FRAMEWRIGHT_RECEIVER = `http://localhost:${port}`;
  return { FRAMEWRIGHT_RECEIVER, FRAMEWRIGHT_RECEIVER_PORT: String(port) };
}

/** Seconds between two kills. */
const KILL_SECONDS = 3;

/** Starts a process, and again each time that it is killed, until it is stopped. */
function keepRunning(name: string, start: () => Promise<ServiceProcess>) {
  let kills = 0;
  let current = start();
  const end = async () => (await current).kill('SIGKILL');
  return {
    name,
    current: () => current,
    async kill() {
      await end();
      kills += 1;
      current = start();
    },
    stop: end,
    get kills() {
      return kills;
    },
  };
}

/** Starts two processes of the role, each again when it is killed. */
function keepTwo(role: string, env: Record<string, string>, started?: LoadBalancer['use']) {
  return [`${role} 1`, `${role} 2`].map((name) =>
    keepRunning(name, async () => {
      const service = await startServiceProcess({ ...env, ROLES: role });
      started?.(name, service.url);
      return service;
    }),
  );
}

longTest(
  'the suite passes on two APIs and two workers with S3, while each of them is killed',
  async (t) => {
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
    const workers = keepTwo('worker', env);
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
        ...receiverOf(receiverPort),
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
  },
);
