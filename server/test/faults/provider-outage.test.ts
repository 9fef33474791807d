import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type SimulatorProcess, startSimulator } from '../../../simulators/kit/process.ts';
import { statement } from '../../src/database/database.ts';
import { audit } from '../../src/operator/audit.ts';
import { type Client, client, SMALLEST } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { longTest } from '../long.ts';
import { imageBytes } from '../media/media-fixture.ts';
import { type MediaHost, startMediaHost } from '../media/media-host.ts';
import {
  runOperatorCommand,
  type ServiceProcess,
  startServiceProcess,
} from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';

const CREDITS = 100_000;
/** Tasks that are announced when the outage begins. */
const TASKS = 3;

const PHASES = statement(
  'test_outage_tasks',
  `select t.id, t.phase, (select count(*)::int from attempts a where a.task_id = t.id) as attempts
   from tasks t order by t.created_at`,
);
type Row = { id: string; phase: string; attempts: number };

let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let host: MediaHost;
let simulator: SimulatorProcess;
let service: ServiceProcess;
let env: Record<string, string>;
let imageUrl: string;

before(async () => {
  database = await createTestDatabase();
  folder = await temporaryFolder();
  host = await startMediaHost();
  const bytes = await imageBytes('png', 640, 360);
  imageUrl = host.serve('/frame.png', { kind: 'bytes', bytes });
  simulator = await startProvider('0');
  const { host: provider } = new URL(simulator.url);
  env = {
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    CREATE_WAIT_SECONDS: '0',
    PROVIDER: 'ark',
    ARK_API_KEY: 'outage',
    ARK_BASE_URL: `${simulator.url}/api/v3`,
    OUTBOUND_ALLOW: `localhost:${host.port}`,
    PROVIDER_ALLOW: provider,
  };
  service = await startServiceProcess(env);
});
after(async () => {
  await service.kill('SIGKILL');
  await simulator.kill();
  await host.close();
  await database.close();
  await folder[Symbol.asyncDispose]();
});

function startProvider(port: string): Promise<SimulatorProcess> {
  return startSimulator('ark', folder.path, ['--port', port, '--job-seconds', '0.5']);
}

function tasks(): Promise<Row[]> {
  return database.db.query<Row>(PHASES);
}

function create(customer: Client) {
  return customer.create({ ...SMALLEST, mode: 'image-to-video', image_url: imageUrl });
}

async function makeClient(): Promise<Client> {
  return client(service.url, (await makeCustomer(database.db, CREDITS)).secret);
}

/** Waits until all tasks are completed, each with one job at the provider. */
async function assertCompleted(): Promise<void> {
  const rows = await until(tasks, (all) => all.every(({ phase }) => phase === 'completed'));
  assert.equal((await simulator.jobs()).length, rows.length, 'one job for each task');
  assert.deepEqual(await audit(database.db), { ok: true, problems: [] });
}

test('a provider outage reserves nothing new, repeats no download and loses no task', async (t) => {
  const customer = await makeClient();
  const { port } = new URL(simulator.url);
  await simulator.kill();
  for (let count = 0; count < TASKS; count += 1) {
    await createOrRefuse(customer);
  }
  const other = await makeClient();
  let refused = 0;
  for (let count = 0; count < 8; count += 1) {
    refused += (await createOrRefuse(other)) === undefined ? 0 : 1;
    assert.equal((await other.credits()).status, 200);
    await delay(500);
  }
  const during = await tasks();
  const attempts = during.reduce((sum, row) => sum + row.attempts, 0);
  t.diagnostic(`${during.length} tasks made ${attempts} attempts; ${refused} creates were refused`);
  assert.ok(refused > 0);
  assert.ok(during.every(({ phase }) => phase === 'submitting' || phase === 'ingesting'));
  assert.ok(attempts < 2 * during.length, 'a task that waits makes no attempt');
  assert.ok(host.requests.length <= during.length, 'each file was fetched once');
  simulator = await startProvider(port);
  const endedAt = performance.now();
  const since = () => `${((performance.now() - endedAt) / 1000).toFixed(1)} s`;
  for (let wait: number | undefined = 0; wait !== undefined; ) {
    wait = await createOrRefuse(other);
    await delay((wait ?? 0) * 1000);
  }
  t.diagnostic(`a create passed ${since()} after the outage`);
  await assertCompleted();
  t.diagnostic(`all tasks were completed ${since()} after the outage`);
});

/** @returns the Retry-After of a refused create; undefined if it was taken */
async function createOrRefuse(customer: Client): Promise<number | undefined> {
  const { status, body, headers } = await create(customer);
  if (status === 202) return undefined;
  assert.deepEqual([status, body.error.details.reason], [503, 'not_taken']);
  const seconds = Number(headers.get('retry-after'));
  assert.ok(seconds >= 1);
  return seconds;
}

test('an operator pauses and resumes a provider, and creates, without a restart', async () => {
  const customer = await makeClient();
  const reason = ['--reason', 'planned maintenance'];
  for (const subject of [['providers', 'ark'], ['creates']] as const) {
    const [noun, ...name] = subject;
    await runOperatorCommand(env, noun, 'pause', ...name, ...reason);
    const refused = await create(customer);
    assert.deepEqual([refused.status, refused.body.error.code], [503, 'service_busy']);
    await runOperatorCommand(env, noun, 'resume', ...name);
    assert.equal((await create(customer)).status, 202);
  }
  await assertCompleted();
});

longTest('tasks of a paused provider wait, without an attempt, until it is resumed', async () => {
  const customer = await makeClient();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const bytes = await imageBytes('png', 640, 360);
  const next = { kind: 'bytes', bytes } as const;
  const slowUrl = host.serve('/slow.png', { kind: 'after', moment: released, next });
  const body = { ...SMALLEST, mode: 'image-to-video', image_url: slowUrl };
  const { body: created } = await customer.create(body);
  await host.requested('/slow.png');
  await runOperatorCommand(env, 'providers', 'pause', 'ark', '--reason', 'planned maintenance');
  await delay(1500); // every process knows it after 1 s
  release();
  const waiting = await until(tasks, (all) =>
    all.some(({ id, phase }) => id === created.id && phase === 'submitting'),
  );
  assert.equal(waiting.find(({ id }) => id === created.id)?.attempts, 0);
  const [ark] = (await status()).filter(({ provider }) => provider === 'ark');
  assert.deepEqual([ark?.state, ark?.reason], ['paused', 'planned maintenance']);
  await runOperatorCommand(env, 'providers', 'resume', 'ark');
  await assertCompleted();
});

async function status() {
  const listed = await runOperatorCommand(env, 'providers', 'status');
  return listed as Array<{ provider: string; state: string; reason: string | null }>;
}
