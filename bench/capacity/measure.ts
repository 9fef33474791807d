/** `node bench/capacity/measure.ts`: measures what units of work cost, and writes units.json. */
import { writeFile } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement } from '../../server/src/database/database.ts';
import {
  type Clients,
  type FundedKey,
  makeFundedKeys,
  openBenchSetup,
  type RunningService,
  startClients,
  withTasks,
} from '../bench-setup.ts';
import { withInstantProvider } from '../instant-provider.ts';
import { cpuSeconds, serverPid, treeSeconds } from '../process-usage.ts';

/** What one unit of work costs (units.json). */
export interface Units {
  measuredAt: string;
  machine: string;
  create: Cost;
  read: Cost;
  /** All steps of a task after its create. Decoding runs in processes of its own: not included. */
  steps: Cost;
}

interface Cost {
  /** CPU time of the service's process. */
  processMs: number;
  /** CPU time of all processes of Postgres. */
  databaseMs: number;
  walBytes: number;
  commits: number;
}

const CLIENTS = 32;
const SECONDS = 5;
/** Tasks that a worker takes from their create to completed. */
const STEPS = 300;
/** So many that no key reaches 30 requests in 60 seconds. */
const KEY_COUNTS = { accounts: 1000, keysEach: 20 };

function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(3)) : value;
}

const TOTALS = statement(
  'capacity_totals',
  `select (pg_current_wal_lsn() - '0/0')::float8 as wal,
     (select xact_commit from pg_stat_database where datname = current_database())::float8
       as commits`,
);

/** @returns a function that does some work and returns what each of its units cost */
async function openMeter(db: Database, servicePid: number) {
  const server = await serverPid(db);
  const totals = async () => {
    const [row] = await db.query<{ wal: number; commits: number }>(TOTALS);
    return {
      process: (await cpuSeconds(servicePid)) * 1000,
      database: (await treeSeconds(server)) * 1000,
      wal: row?.wal ?? 0,
      commits: row?.commits ?? 0,
    };
  };
  return async (work: () => Promise<number>): Promise<Cost> => {
    const before = await totals();
    const units = await work();
    await delay(1500); // statistics come with a delay
    const after = await totals();
    return {
      processMs: (after.process - before.process) / units,
      databaseMs: (after.database - before.database) / units,
      walBytes: (after.wal - before.wal) / units,
      commits: (after.commits - before.commits) / units,
    };
  };
}

/** Creates and reads of one api process, by 32 clients. */
async function measureRequests() {
  await using bench = await openBenchSetup();
  const { db, startService } = bench;
  const funded = await makeFundedKeys(db, KEY_COUNTS);
  await using service = await startService({ ROLES: 'api', CREATE_WAIT_SECONDS: '0' });
  const measure = await openMeter(db, service.pid);
  const load = { url: service.url, clients: CLIENTS };
  await using creating = await startClients({ ...load, act: 'create', targets: funded });
  await creating.send({ seconds: 2 });
  const run = async (clients: Clients) =>
    (await clients.send({ seconds: SECONDS })).perSecond * SECONDS;
  const create = await measure(() => run(creating));
  const targets = await withTasks(db, funded);
  await using reading = await startClients({ ...load, act: 'read', targets });
  await reading.send({ seconds: 1 });
  const read = await measure(() => run(reading));
  return { create, read };
}

const COMPLETED = statement(
  'capacity_completed',
  `select count(*)::int as tasks from tasks where phase = 'completed'`,
);

async function count(db: Database): Promise<number> {
  const [row] = await db.query<{ tasks: number }>(COMPLETED);
  return row?.tasks ?? 0;
}

/** The steps of tasks that were created before the worker starts, and its work in that time. */
function measureTasks() {
  return withInstantProvider(async ({ env }) => {
    await using bench = await openBenchSetup();
    const { db, startService } = bench;
    const funded = await makeFundedKeys(db, { accounts: 100, keysEach: 1 });
    await createTasks(await startService({ ...env, ROLES: 'api' }), funded);
    await using service = await startService({ ...env, ROLES: 'worker' });
    const measure = await openMeter(db, service.pid);
    return measure(async () => {
      for (let tries = 0; tries < 600 && (await count(db)) < STEPS; tries += 1) await delay(100);
      return count(db);
    });
  });
}

async function createTasks(service: RunningService, funded: FundedKey[]): Promise<void> {
  const setup = { url: service.url, clients: 8, act: 'create', targets: funded } as const;
  await using clients = await startClients(setup);
  await clients.send({ acts: STEPS });
  await service[Symbol.asyncDispose]();
}

const api = await measureRequests();
const cpu = cpus()[0]?.model ?? 'unknown';
const units: Units = {
  measuredAt: new Date().toISOString().slice(0, 10),
  machine: `${availableParallelism()} cores, ${cpu}, Node ${process.version}`,
  create: api.create,
  read: api.read,
  steps: await measureTasks(),
};
const text = `${JSON.stringify(units, rounded, 2)}\n`;
await writeFile(new URL('units.json', import.meta.url), text);
process.stdout.write(text);
