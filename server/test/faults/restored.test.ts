import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openEmbeddedDatabase } from 'embedded-postgres';
import { type SimulatorProcess, startSimulator } from '../../../simulators/kit/process.ts';
import { type Database, openDatabase, statement } from '../../src/database/database.ts';
import { audit } from '../../src/operator/audit.ts';
import { type Client, client } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { quiet } from '../database.ts';
import { longTest } from '../long.ts';
import { runOperatorCommand, startServiceProcess } from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';

const BODY = {
  model: 'video-2.0',
  prompt: 'A clock that is wound back',
  duration: 4,
  resolution: '480p',
  generate_audio: false,
};
const TASKS = 3;
const PHASES = statement('test_phases', 'select phase, count(*)::int as n from tasks group by 1');

/** A server, its data folder, the service's data folder, and what both have in common. */
interface Site {
  simulator: SimulatorProcess;
  serverFolder: string;
  env: Record<string, string>;
  isEmbedded: boolean;
}

/** Starts the server for as long as the work lasts. */
async function withServer<T>(
  site: Site,
  work: (db: Database, env: Record<string, string>) => Promise<T>,
): Promise<T> {
  const settings = site.isEmbedded ? {} : { settings: { fsync: 'off', full_page_writes: 'off' } };
  const server = await openEmbeddedDatabase({
    dataDir: site.serverFolder,
    log: quiet,
    ...settings,
  });
  const db = openDatabase({ url: server.url, connections: 2, log: quiet });
  try {
    const url = site.isEmbedded ? {} : { DATABASE_URL: server.url };
    return await work(db, { ...site.env, ...url });
  } finally {
    await db.close();
    await server.close();
  }
}

/** Creates the tasks while no worker runs, then stops everything. @returns the customer's key */
function createTasks(site: Site): Promise<string> {
  return withServer(site, async (db, env) => {
    await using service = await startServiceProcess({ ...env, ROLES: 'api' });
    const { secret } = await makeCustomer(db, 10_000);
    const api = client(service.url, secret);
    for (let n = 0; n < TASKS; n += 1) assert.equal((await api.create(BODY)).status, 202);
    await service.kill('SIGTERM');
    return secret;
  });
}

function submitTasks(site: Site): Promise<void> {
  return withServer(site, async (_db, env) => {
    await using service = await startServiceProcess({ ...env, ROLES: 'worker' });
    await until(
      () => site.simulator.jobs(),
      (jobs) => jobs.length === TASKS,
    );
    await service.kill('SIGTERM');
  });
}

/** Asserts that a new task is submitted, and that the held ones are not. */
async function assertHeld(site: Site, db: Database, api: Client): Promise<void> {
  await api.create(BODY);
  await until(
    () => site.simulator.jobs(),
    (jobs) => jobs.length > TASKS,
  );
  await delay(1500); // several finds
  const rows = await db.query<{ phase: string; n: number }>(PHASES);
  const phases = Object.fromEntries(rows.map(({ phase, n }) => [phase, n]));
  assert.equal(phases.held, TASKS);
  assert.equal((await site.simulator.jobs()).length, TASKS + (phases.generating ?? 0));
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
}

async function openSite(folder: string, isEmbedded: boolean): Promise<Site> {
  const simulator = await startSimulator('replicate', folder, ['--job-seconds', '600']);
  const dataDir = `${folder}/data`;
  const env = {
    DATA_DIR: dataDir,
    PROVIDER: 'replicate',
    REPLICATE_API_TOKEN: 'r8-token',
    REPLICATE_BASE_URL: simulator.url,
    PROVIDER_ALLOW: new URL(simulator.url).host,
    CREATE_WAIT_SECONDS: '0',
    RECONCILE_SECONDS: '0.3',
  };
  return { simulator, env, isEmbedded, serverFolder: isEmbedded ? dataDir : `${folder}/server` };
}

interface Result {
  held_tasks: string[];
  replay_after: { what: string; last_known: string | null }[];
}

const RESTORED = ['restored', '--reason', 'back-up of last night'];

test('workers notice a restored database and claim nothing; no job runs twice', async (t) => {
  await using folder = await temporaryFolder();
  const site = await openSite(folder.path, false);
  try {
    const secret = await createTasks(site);
    await cp(site.serverFolder, `${folder.path}/back-up`, { recursive: true });
    await submitTasks(site);
    await rm(site.serverFolder, { recursive: true });
    await cp(`${folder.path}/back-up`, site.serverFolder, { recursive: true });
    await withServer(site, async (db, env) => {
      await using service = await startServiceProcess({ ...env, ROLES: 'api,worker' });
      const api = client(service.url, secret);
      await api.create(BODY);
      await delay(1500);
      assert.match(service.output(), /Run .*framewright restored/);
      assert.equal((await site.simulator.jobs()).length, TASKS, 'nothing was submitted');
      const result = (await runOperatorCommand(env, ...RESTORED)) as Result;
      assert.equal(result.held_tasks.length, TASKS);
      const grants = result.replay_after.find(({ what }) => what.startsWith('credits'));
      assert.ok(grants?.last_known);
      const restoredAt = performance.now();
      await assertHeld(site, db, api);
      t.diagnostic(`recovered after ${((performance.now() - restoredAt) / 1000).toFixed(1)} s`);
      await service.kill('SIGTERM');
    });
  } finally {
    await site.simulator.kill();
  }
});

longTest(
  'after a restore of the whole data folder, the command alone prevents a second job',
  async () => {
    await using folder = await temporaryFolder();
    const site = await openSite(folder.path, true);
    const { DATA_DIR: dataDir = '' } = site.env;
    try {
      const secret = await createTasks(site);
      await cp(dataDir, `${folder.path}/back-up`, { recursive: true });
      await submitTasks(site);
      await rm(dataDir, { recursive: true });
      await cp(`${folder.path}/back-up`, dataDir, { recursive: true });
      const result = (await runOperatorCommand(site.env, ...RESTORED)) as Result;
      assert.equal(result.held_tasks.length, TASKS);
      await withServer(site, async (db, env) => {
        await using service = await startServiceProcess({ ...env, ROLES: 'api,worker' });
        await assertHeld(site, db, client(service.url, secret));
        await service.kill('SIGTERM');
      });
    } finally {
      await site.simulator.kill();
    }
  },
);
