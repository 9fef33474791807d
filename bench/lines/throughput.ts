import { statement } from '../../server/src/database/database.ts';
import { simulatedBucket } from '../../server/test/storage/simulated-bucket.ts';
import {
  type BenchSetup,
  type Clients,
  type FundedKey,
  makeFundedKeys,
  openBenchSetup,
  type RunningService,
  startClients,
  withTasks,
} from '../bench-setup.ts';
import type { CreateFloorSetup } from '../floors/create-floor.ts';
import type { ReadFloorSetup } from '../floors/read-floor.ts';
import { type Comparison, compare, type Sample } from '../load.ts';
import { cpuSeconds } from '../process-usage.ts';
import { type ProgramAddress, startProgram } from '../program.ts';

/** The size of the service's own pool (server/src/service.ts); the floors use the same. */
const CONNECTIONS = 24;
export const CLIENTS = 32;
/** How many clients create at once in the second line. */
export const MANY_CLIENTS = 128;
/** So many that no key reaches 30 requests in 60 seconds, and no account's row is the bottleneck. */
const KEY_COUNTS = { accounts: 1000, keysEach: 30 };

/** How long CPU time is measured. */
const CPU_SECONDS = 3;

/** Creates and reads per second of one service without a worker, each with its floor. */
export async function compareThroughput() {
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
  return { create, manyCreate, ...(await compareReads(bench, service, keys)) };
}

async function compareCreates(
  { databaseUrl }: BenchSetup,
  { url }: RunningService,
  { keys, clients }: { keys: FundedKey[]; clients: number },
): Promise<Comparison> {
  await using load = await startClients({ url, clients, act: 'create', targets: keys });
  const accountIds = keys.map(({ accountId }) => accountId);
  await using floor = await startProgram<CreateFloorSetup, { seconds: number }, Sample>(
    'floors/create-floor.ts',
    {
      databaseUrl,
      accountIds,
      connections: CONNECTIONS,
      clients,
    },
  );
  return await compare(load, floor);
}

async function compareReads(bench: BenchSetup, service: RunningService, keys: FundedKey[]) {
  const targets = await withTasks(bench.db, keys);
  const load = { clients: CLIENTS, act: 'read', targets } as const;
  await using clients = await startClients({ ...load, url: service.url });
  const setup = { databaseUrl: bench.databaseUrl, connections: CONNECTIONS };
  await using floor = await startProgram<ReadFloorSetup, object, ProgramAddress>(
    'floors/read-floor.ts',
    setup,
  );
  const floorAddress = await floor.send({});
  await using floorClients = await startClients({ ...load, url: floorAddress.url });
  const read = await compare(clients, floorClients);
  const readMicroseconds = {
    service: await microsecondsOf(clients, service.pid),
    floor: await microsecondsOf(floorClients, floorAddress.pid),
  };
  return { read, readMicroseconds };
}

/** CPU time of a process for one request, without the database. */
async function microsecondsOf(clients: Pick<Clients, 'send'>, pid: number): Promise<number> {
  const before = await cpuSeconds(pid);
  const { perSecond } = await clients.send({ seconds: CPU_SECONDS });
  return (((await cpuSeconds(pid)) - before) * 1e6) / (perSecond * CPU_SECONDS);
}
