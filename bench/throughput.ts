import { statement } from '../server/src/database/database.ts';
import { simulatedBucket } from '../server/test/storage/simulated-bucket.ts';
import {
  type BenchSetup,
  type FundedKey,
  makeFundedKeys,
  openBenchSetup,
  type RunningService,
} from './bench-setup.ts';
import type { CreateFloorSetup } from './floors/create-floor.ts';
import type { ReadFloorSetup } from './floors/read-floor.ts';
import type { HttpClientsSetup, Target } from './http-clients.ts';
import { startProgram } from './program.ts';
import { type Comparison, compare } from './rounds.ts';
import type { Sample } from './sample.ts';

/** The size of the service's own pool (server/src/service.ts); the floors use the same. */
const CONNECTIONS = 24;
export const CLIENTS = 32;
/** How many clients create at once in the second line. */
export const MANY_CLIENTS = 128;
/** So many that no key reaches 30 requests in 60 seconds, and no account's row is the bottleneck. */
const KEY_COUNTS = { accounts: 1000, keysEach: 15 };

type Span = { seconds: number };

/** Creates by {@link CLIENTS} and by {@link MANY_CLIENTS}, and reads by {@link CLIENTS}. */
interface Throughput {
  create: Comparison;
  manyCreate: Comparison;
  read: Comparison;
}

/** Creates and reads per second of one service without a worker, each with its floor. */
export async function compareThroughput(): Promise<Throughput> {
  await using bench = await openBenchSetup();
  const keys = await makeFundedKeys(bench.db, KEY_COUNTS);
  // Without a worker, the room on a disk that is reserved for outputs would run out.
  const bucket = await simulatedBucket();
  await using _s3 = bucket.s3;
  const { accessKeyId, secretAccessKey } = bucket.credentials;
  await using service = await bench.startService({
    ROLES: 'api',
    CREATE_WAIT_SECONDS: '0',
    STORAGE_URL: bucket.url,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  });
  const create = await compareCreates(bench, service, { keys, clients: CLIENTS });
  const manyCreate = await compareCreates(bench, service, { keys, clients: MANY_CLIENTS });
  await bench.db.query(statement('bench_vacuum', 'vacuum analyze'));
  await bench.db.query(statement('bench_checkpoint', 'checkpoint'));
  const read = await compareReads(bench, service, keys);
  return { create, manyCreate, read };
}

async function compareCreates(
  { databaseUrl }: BenchSetup,
  { url }: RunningService,
  { keys, clients }: { keys: FundedKey[]; clients: number },
): Promise<Comparison> {
  const targets = keys.map(({ secret }) => ({ secret, taskId: '' }));
  await using load = await startClients({ url, clients, act: 'create', targets });
  const accountIds = keys.map(({ accountId }) => accountId);
  await using floor = await startProgram<CreateFloorSetup, Span, Sample>('floors/create-floor.ts', {
    databaseUrl,
    accountIds,
    connections: CONNECTIONS,
    clients,
  });
  return await compare(load, floor);
}

async function compareReads(
  bench: BenchSetup,
  { url }: RunningService,
  keys: FundedKey[],
): Promise<Comparison> {
  const targets = await withTasks(bench, keys);
  const { databaseUrl } = bench;
  const load = { clients: CLIENTS, act: 'read', targets } as const;
  await using clients = await startClients({ ...load, url });
  const setup = { databaseUrl, connections: CONNECTIONS };
  await using floor = await startProgram<ReadFloorSetup, object, string>(
    'floors/read-floor.ts',
    setup,
  );
  await using floorClients = await startClients({ ...load, url: await floor.send({}) });
  return await compare(clients, floorClients);
}

function startClients(setup: HttpClientsSetup) {
  return startProgram<HttpClientsSetup, Span, Sample>('http-clients.ts', setup);
}

const A_TASK_EACH = statement(
  'bench_tasks',
  'select distinct on (account_id) account_id, id from tasks order by account_id',
);

async function withTasks({ db }: BenchSetup, keys: FundedKey[]): Promise<Target[]> {
  const rows = await db.query<{ account_id: string; id: string }>(A_TASK_EACH);
  const taskIds = new Map(rows.map((row) => [row.account_id, row.id]));
  return keys.flatMap(({ accountId, secret }) => {
    const taskId = taskIds.get(accountId);
    return taskId === undefined ? [] : [{ secret, taskId }];
  });
}
