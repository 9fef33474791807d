import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openEmbeddedDatabase } from 'embedded-postgres';
import { type SimulatorProcess, startSimulator } from '../../../simulators/kit/process.ts';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { audit } from '../../src/operator/audit.ts';
import { type Client, client } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { quiet } from '../database.ts';
import {
  runOperatorCommand,
  type ServiceProcess,
  startServiceProcess,
} from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
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

interface Running {
  db: Database;
  env: Record<string, string>;
  service: ServiceProcess;
}

/** Runs the database server and a service of these roles for as long as the work lasts. */
async function running<T>(
  dataDir: string,
  own: Record<string, string>,
  work: (site: Running) => Promise<T>,
): Promise<T> {
  const settings = { fsync: 'off', full_page_writes: 'off' };
  const server = await openEmbeddedDatabase({ dataDir, log: quiet, settings });
  const db = openDatabase({ url: server.url, connections: 2, log: quiet });
  try {
    const env = { ...own, DATABASE_URL: server.url };
    await using service = await startServiceProcess(env);
    const result = await work({ db, env, service });
    await service.kill('SIGTERM');
    return result;
  } finally {
    await db.close();
    await server.close();
  }
}

/** Asserts that a new task is submitted, and that the held ones are not. */
async function assertHeld(db: Database, simulator: SimulatorProcess, api: Client): Promise<void> {
  await api.create(BODY);
  await until(async () => (await simulator.jobs()).length > TASKS);
  await delay(1500); // several finds
  const select = 'select phase, count(*)::int as n from tasks group by 1';
  const rows = await sql<{ phase: string; n: number }>(db, select);
  const phases = Object.fromEntries(rows.map(({ phase, n }) => [phase, n]));
  assert.equal(phases.held, TASKS);
  assert.equal((await simulator.jobs()).length, TASKS + (phases.generating ?? 0));
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
}

test('workers notice a restored database and claim nothing; no job runs twice', async (t) => {
  await using folder = await temporaryFolder();
  const [server, backUp] = [`${folder.path}/server`, `${folder.path}/back-up`];
  const simulator = await startSimulator('replicate', folder.path, ['--job-seconds', '600']);
  t.after(() => simulator.kill());
  const env = {
    DATA_DIR: `${folder.path}/data`,
    PROVIDER: 'replicate',
    REPLICATE_API_TOKEN: 'r8-token',
    REPLICATE_BASE_URL: simulator.url,
    PROVIDER_ALLOW: new URL(simulator.url).host,
    CREATE_WAIT_SECONDS: '0',
    RECONCILE_SECONDS: '0.3',
  };
  const secret = await running(server, { ...env, ROLES: 'api' }, async ({ db, service }) => {
    const customer = await makeCustomer(db, 10_000);
    const api = client(service.url, customer.secret);
    for (let n = 0; n < TASKS; n += 1) assert.equal((await api.create(BODY)).status, 202);
    return customer.secret;
  });
  await cp(server, backUp, { recursive: true });
  await running(server, { ...env, ROLES: 'worker' }, () =>
    until(async () => (await simulator.jobs()).length === TASKS),
  );
  await rm(server, { recursive: true });
  await cp(backUp, server, { recursive: true });
  await running(server, { ...env, ROLES: 'api,worker' }, async (site) => {
    const api = client(site.service.url, secret);
    await api.create(BODY);
    await delay(1500);
    assert.match(site.service.output(), /Run .*framewright restored/);
    assert.equal((await simulator.jobs()).length, TASKS, 'nothing was submitted');
    const words = ['restored', '--reason', 'back-up of last night'];
    const result = (await runOperatorCommand(site.env, ...words)) as {
      held_tasks: string[];
      replay_after: { what: string; last_known: string | null }[];
    };
    assert.equal(result.held_tasks.length, TASKS);
    const grants = result.replay_after.find(({ what }) => what.startsWith('credits'));
    assert.ok(grants?.last_known);
    const restoredAt = performance.now();
    await assertHeld(site.db, simulator, api);
    t.diagnostic(`recovered after ${((performance.now() - restoredAt) / 1000).toFixed(1)} s`);
  });
});
