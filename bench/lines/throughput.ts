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
import type { HttpFloorSetup } from '../floors/http-floor.ts';
import type { ReadFloorSetup } from '../floors/read-floor.ts';
import type { Target } from '../http-clients.ts';
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

/** Rounds of reads, in turns with Node's HTTP server alone. */
const HTTP_ROUNDS = { count: 3, seconds: 2 };
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
  await using bare = await startProgram<HttpFloorSetup, object, ProgramAddress>(
    'floors/http-floor.ts',
    await responseOf(service.url, targets),
  );
  const bareAddress = await bare.send({});
  await using bareClients = await startClients({ ...load, url: bareAddress.url });
  const { floor: http, ratio } = await compare(clients, bareClients, HTTP_ROUNDS);
  const readMicroseconds = {
    service: await microsecondsOf(clients, service.pid),
    floor: await microsecondsOf(floorClients, floorAddress.pid),
    http: await microsecondsOf(bareClients, bareAddress.pid),
  };
  return { read, readOfHttp: { http, ratio }, readMicroseconds };
}

/** A read's response, which the bare HTTP server then repeats. */
async function responseOf(url: string, targets: Target[]): Promise<HttpFloorSetup> {
  const [target] = targets;
  const response = await fetch(`${url}/api/v1/tasks/${target?.taskId}`, {
    headers: { authorization: `Bearer ${target?.secret}` },
  });
  const own = ['connection', 'keep-alive', 'date']; // the server sends them by itself
  const headers = [...response.headers].filter(([name]) => !own.includes(name));
  return { '/': { headers: Object.fromEntries(headers), body: await response.text() } };
}

/** CPU time of a process for one request, without the database. */
async function microsecondsOf(clients: Pick<Clients, 'send'>, pid: number): Promise<number> {
  const before = await cpuSeconds(pid);
  const { perSecond } = await clients.send({ seconds: CPU_SECONDS });
  return (((await cpuSeconds(pid)) - before) * 1e6) / (perSecond * CPU_SECONDS);
}
