/** `node bench/capacity/measure.ts`: measures what units of work cost, and writes units.json. */
import { writeFile } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement } from '../../server/src/database/database.ts';
import { makeVideo } from '../../server/test/media/media-files.ts';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import { startSimulator } from '../../simulators/kit/process.ts';
import {
  type BenchSetup,
  type Clients,
  type FundedKey,
  makeFundedKeys,
  openBenchSetup,
  type RunningService,
  startClients,
} from '../bench-setup.ts';
import type { Target } from '../http-clients.ts';
import { residentMemory } from '../memory.ts';
import { multiply, sizesOf, TABLES } from './many-tasks.ts';
import { openMeter } from './meter.ts';
import type { Cost, Units } from './units.ts';

const CLIENTS = 32;
const SECONDS = 5;
/** Tasks that a worker takes from their create to completed. */
const STEPS = 300;
/** What the simulated provider returns for each job: 6 frames, 9 kB. */
const OUTPUT = { width: 64, height: 64, seconds: 0.25, audio: null } as const;
const IDLE_SECONDS = 8;
const COPIES = 20_000;
/** So many that no key reaches 30 requests in 60 seconds. */
const KEY_COUNTS = { accounts: 1000, keysEach: 20 };

function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(3)) : value;
}

async function megabytes(pid: number): Promise<number> {
  return Math.round((await residentMemory(pid)).nowBytes / 2 ** 20);
}

/** Creates and reads of one api process, by 32 clients. */
async function measureRequests() {
  await using bench = await openBenchSetup();
  const { db, startService } = bench;
  const funded = await makeFundedKeys(db, KEY_COUNTS);
  const startedAt = await now(db);
  await using service = await startService({ ROLES: 'api', CREATE_WAIT_SECONDS: '0' });
  const meter = await openMeter(db, service.pid);
  const load = { url: service.url, clients: CLIENTS };
  await using creating = await startClients({ ...load, act: 'create', targets: funded });
  await creating.send({ seconds: 2 });
  const run = async (clients: Clients) =>
    (await clients.send({ seconds: SECONDS })).perSecond * SECONDS;
  const create = await meter.measure(() => run(creating));
  const reading = await startClients({ ...load, act: 'read', targets: await tasksOf(db, funded) });
  await reading.send({ seconds: 1 });
  const read = await meter.measure(() => run(reading));
  await reading[Symbol.asyncDispose]();
  const connections = await connectionsSince(db, startedAt);
  return { create, read, connections, memory: await megabytes(service.pid) };
}

const A_TASK_EACH = statement(
  'capacity_tasks',
  'select distinct on (account_id) account_id, id from tasks order by account_id',
);

async function tasksOf(db: Database, funded: FundedKey[]): Promise<Target[]> {
  const rows = await db.query<{ account_id: string; id: string }>(A_TASK_EACH);
  const tasks = new Map(rows.map((row) => [row.account_id, row.id]));
  return funded.flatMap(({ accountId, secret }) => {
    const taskId = tasks.get(accountId);
    return taskId === undefined ? [] : [{ secret, taskId }];
  });
}

const COMPLETED = statement(
  'capacity_completed',
  `select count(*)::int as tasks, max(id) as id from tasks where phase = 'completed'`,
);
const CONNECTIONS = statement(
  'capacity_connections',
  `select count(*)::int as connections from pg_stat_activity
   where datname = current_database() and pid <> pg_backend_pid() and backend_start > $1`,
);
const NOW = statement('capacity_now', 'select clock_timestamp() as now');

async function now(db: Database): Promise<Date> {
  const [row] = await db.query<{ now: Date }>(NOW);
  if (!row) throw new Error('there is no time');
  return row.now;
}

async function count(db: Database): Promise<number> {
  const [row] = await db.query<{ tasks: number }>(COMPLETED);
  return row?.tasks ?? 0;
}

/** Connections that were opened since: those of a service that was started then. */
async function connectionsSince(db: Database, since: Date): Promise<number> {
  const [row] = await db.query<{ connections: number }>(CONNECTIONS, [since]);
  return row?.connections ?? 0;
}

/** The steps of tasks that were created before the worker starts; then what such a task keeps. */
async function measureTasks() {
  await using folder = await temporaryFolder();
  const outputFile = path.join(folder.path, 'output.mp4');
  await makeVideo(outputFile, OUTPUT);
  const options = ['--job-seconds', '0', '--output-file', outputFile];
  const provider = await startSimulator('fal', folder.path, options);
  try {
    await using bench = await openBenchSetup();
    const worker = await measureSteps(bench, provider.url);
    return { worker, stored: await measureStorage(bench.db) };
  } finally {
    await provider.kill();
  }
}

async function measureSteps({ db, startService }: BenchSetup, providerUrl: string) {
  const env = {
    PROVIDER: 'fal',
    FAL_API_KEY: 'bench',
    FAL_QUEUE_URL: providerUrl,
    PROVIDER_ALLOW: new URL(providerUrl).host,
    LOG_LEVEL: 'warn',
    CREATE_WAIT_SECONDS: '0',
  };
  const funded = await makeFundedKeys(db, { accounts: 100, keysEach: 1 });
  await createTasks(await startService({ ...env, ROLES: 'api' }), funded);
  const startedAt = await now(db);
  await using service = await startService({ ...env, ROLES: 'worker' });
  const meter = await openMeter(db, service.pid);
  let connections = 0;
  const begun = performance.now();
  const busy = await meter.measure(async () => {
    for (let tries = 0; tries < 600 && (await count(db)) < STEPS; tries += 1) {
      connections = Math.max(connections, await connectionsSince(db, startedAt));
      await delay(100);
    }
    return count(db);
  });
  const secondsPerTask = (performance.now() - begun) / 1000 / (await count(db));
  const idle = await meter.measure(async () => {
    await delay(IDLE_SECONDS * 1000);
    return IDLE_SECONDS;
  });
  const steps = without(busy, idle, secondsPerTask);
  return { steps, idle, connections, memory: await megabytes(service.pid) };
}

/** The costs less those of an idle worker in the same time. */
function without(busy: Cost, idle: Cost, seconds: number): Cost {
  return {
    processMs: busy.processMs - idle.processMs * seconds,
    databaseMs: busy.databaseMs - idle.databaseMs * seconds,
    walBytes: busy.walBytes - idle.walBytes * seconds,
    commits: busy.commits - idle.commits * seconds,
  };
}

async function createTasks(service: RunningService, funded: FundedKey[]): Promise<void> {
  const setup = { url: service.url, clients: 8, act: 'create', targets: funded } as const;
  await using clients = await startClients(setup);
  await clients.send({ acts: STEPS });
  await service[Symbol.asyncDispose]();
}

/** Bytes of one completed task, from many copies of a real one. */
async function measureStorage(db: Database): Promise<Units['bytes']> {
  const [template] = await db.query<{ id: string }>(COMPLETED);
  if (!template?.id) throw new Error('no task was completed');
  const before = await sizesOf(db, TABLES);
  await multiply(db, template.id, COPIES);
  await db.query(statement('', 'vacuum analyze'));
  const full = await sizesOf(db, TABLES);
  return Object.fromEntries(
    TABLES.map((table) => [table, ((full[table] ?? 0) - (before[table] ?? 0)) / COPIES]),
  );
}

const api = await measureRequests();
const { worker, stored } = await measureTasks();
const cpu = cpus()[0]?.model ?? 'unknown';
const units: Units = {
  measuredAt: new Date().toISOString().slice(0, 10),
  machine: `${availableParallelism()} cores, ${cpu}, Node ${process.version}`,
  create: api.create,
  read: api.read,
  steps: worker.steps,
  idle: worker.idle,
  bytes: stored,
  connections: { api: api.connections, worker: worker.connections },
  memoryMegabytes: { api: api.memory, worker: worker.memory },
};
const text = `${JSON.stringify(units, rounded, 2)}\n`;
await writeFile(new URL('units.json', import.meta.url), text);
process.stdout.write(text);
