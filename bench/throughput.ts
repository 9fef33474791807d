import { statement } from '../server/src/database/database.ts';
import type { CreateFloorSetup } from './create-floor.ts';
import type { HttpClientsSetup, Target } from './http-clients.ts';
import { startProgram } from './program.ts';
import type { ReadFloorSetup } from './read-floor.ts';
import { type Comparison, compare } from './rounds.ts';
import type { Sample } from './sample.ts';
import {
  type Customer,
  makeCustomers,
  openStage,
  type RunningService,
  type Stage,
} from './stage.ts';

/** Of the service's own pool (server/src/service.ts), so that the floors have no other. */
const CONNECTIONS = 24;
export const CLIENTS = 32;
/** So many that no key comes to 30 requests in 60 seconds, and that no row is everyone's. */
const CUSTOMERS = { accounts: 1000, keysEach: 15 };

type Span = { seconds: number };

/** Creates and reads per second of one service without a worker, each beside its floor. */
export async function compareThroughput(): Promise<{ create: Comparison; read: Comparison }> {
  await using stage = await openStage();
  const customers = await makeCustomers(stage.db, CUSTOMERS);
  await using service = await stage.startService({ ROLES: 'api', CREATE_WAIT_SECONDS: '0' });
  const create = await compareCreates(stage, service, customers);
  await stage.db.query(statement('bench_vacuum', 'vacuum analyze'));
  await stage.db.query(statement('bench_checkpoint', 'checkpoint'));
  const read = await compareReads(stage, service, customers);
  return { create, read };
}

async function compareCreates(
  { databaseUrl }: Stage,
  { url }: RunningService,
  customers: Customer[],
): Promise<Comparison> {
  const targets = customers.map(({ secret }) => ({ secret, taskId: '' }));
  await using clients = await startClients({ url, clients: CLIENTS, act: 'create', targets });
  const accountIds = customers.map(({ accountId }) => accountId);
  await using floor = await startProgram<CreateFloorSetup, Span, Sample>('create-floor.ts', {
    ...{ databaseUrl, accountIds },
    connections: CONNECTIONS,
    clients: CLIENTS,
  });
  return await compare(clients, floor);
}

async function compareReads(
  stage: Stage,
  { url }: RunningService,
  customers: Customer[],
): Promise<Comparison> {
  const targets = await withTasks(stage, customers);
  const { databaseUrl } = stage;
  const load = { clients: CLIENTS, act: 'read', targets } as const;
  await using clients = await startClients({ ...load, url });
  const setup = { databaseUrl, connections: CONNECTIONS };
  await using floor = await startProgram<ReadFloorSetup, object, string>('read-floor.ts', setup);
  await using floorClients = await startClients({ ...load, url: await floor.ask({}) });
  return await compare(clients, floorClients);
}

function startClients(setup: HttpClientsSetup) {
  return startProgram<HttpClientsSetup, Span, Sample>('http-clients.ts', setup);
}

const A_TASK_EACH = statement(
  'bench_tasks',
  'select distinct on (account_id) account_id, id from tasks order by account_id',
);

async function withTasks({ db }: Stage, customers: Customer[]): Promise<Target[]> {
  const rows = await db.query<{ account_id: string; id: string }>(A_TASK_EACH);
  const taskIds = new Map(rows.map((row) => [row.account_id, row.id]));
  return customers.flatMap(({ accountId, secret }) => {
    const taskId = taskIds.get(accountId);
    return taskId === undefined ? [] : [{ secret, taskId }];
  });
}
