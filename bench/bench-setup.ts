import { createAccount } from '../server/src/accounts/accounts.ts';
import { hashSecret, newSecret } from '../server/src/accounts/api-keys.ts';
import { readConfig } from '../server/src/config/config.ts';
import { type Database, statement } from '../server/src/database/database.ts';
import { newId } from '../server/src/kernel/ids.ts';
import { createLog } from '../server/src/kernel/log.ts';
import { grant } from '../server/src/ledger/ledger.ts';
import { openConfiguredDatabase } from '../server/src/open-database.ts';
import { startServiceProcess } from '../server/test/service/service-process.ts';
import { temporaryFolder } from '../server/test/temporary-folder.ts';
import type { HttpClientsSetup, Target } from './http-clients.ts';
import type { Load, Sample } from './load.ts';
import { type Program, startProgram } from './program.ts';

/** An embedded database in a temporary data folder, and the services that run on it. */
export interface BenchSetup extends AsyncDisposable {
  db: Database;
  databaseUrl: string;
  startService(env: Record<string, string>): Promise<RunningService>;
}

export interface RunningService extends AsyncDisposable {
  url: string;
  pid: number;
}

/**
 * Opens a database; `await using` closes it, after the services that were started on it.
 * @param kept a data folder that stays; without one, the database is empty and removed at the end
 */
export async function openBenchSetup(kept?: string): Promise<BenchSetup> {
  await using opened = new AsyncDisposableStack();
  const folder = kept ?? opened.use(await temporaryFolder()).path;
  const log = createLog({ level: 'warn' });
  const config = readConfig({ DATA_DIR: folder });
  const database = await openConfiguredDatabase(config, { log, migrates: true });
  opened.defer(() => database.close());
  const rest = opened.move();
  return {
    db: database.db,
    databaseUrl: database.url,
    async startService(env) {
      const service = await startServiceProcess({ DATA_DIR: folder, ...env });
      return {
        url: service.url,
        pid: service.process.pid ?? 0,
        // SIGKILL: the results of its remaining work are not needed.
        [Symbol.asyncDispose]: async () => void (await service.kill('SIGKILL')),
      };
    },
    [Symbol.asyncDispose]: () => rest.disposeAsync(),
  };
}

/** An API key of an account that can pay for every request. */
export interface FundedKey {
  accountId: string;
  secret: string;
}

const CREDITS = 1_000_000_000;

const INSERT_KEYS = statement(
  'bench_keys',
  `insert into api_keys (id, account_id, secret_hash)
   select * from unnest($1::text[], $2::text[], $3::bytea[])`,
);

/** Makes accounts with `keysEach` API keys each. @returns all keys */
export async function makeFundedKeys(
  db: Database,
  count: { accounts: number; keysEach: number },
): Promise<FundedKey[]> {
  const accounts = Array.from({ length: count.accounts }, () =>
    createAccount(db, `${crypto.randomUUID()}@example.com`),
  );
  return addFundedKeys(db, await Promise.all(accounts), count.keysEach);
}

/** Gives accounts credits and `keysEach` API keys each. @returns these keys */
export async function addFundedKeys(
  db: Database,
  accountIds: string[],
  keysEach: number,
): Promise<FundedKey[]> {
  await Promise.all(
    accountIds.map((accountId) =>
      grant(db, { accountId, credits: CREDITS, kind: 'paid', reference: crypto.randomUUID() }),
    ),
  );
  const rounds = Array.from({ length: keysEach }, () => accountIds);
  const keys = rounds.flat().map((accountId) => ({ accountId, secret: newSecret() }));
  await db.query(INSERT_KEYS, [
    keys.map(() => newId('apiKey')),
    keys.map(({ accountId }) => accountId),
    keys.map(({ secret }) => hashSecret(secret)),
  ]);
  return keys;
}

const NEWEST_TASKS = statement(
  'bench_newest_tasks',
  `select wanted.account_id, newest.id
   from (select distinct unnest($1::text[]) as account_id) as wanted
   cross join lateral (select id from tasks where tasks.account_id = wanted.account_id
     order by created_at desc limit 1) as newest`,
);

/** The keys whose account has a task, with its newest one. */
export async function withTasks(db: Database, keys: FundedKey[]): Promise<Required<Target>[]> {
  const rows = await db.query<{ account_id: string; id: string }>(NEWEST_TASKS, [
    keys.map(({ accountId }) => accountId),
  ]);
  const newest = new Map(rows.map((row) => [row.account_id, row.id]));
  return keys.flatMap(({ accountId, secret }) => {
    const taskId = newest.get(accountId);
    return taskId === undefined ? [] : [{ secret, taskId }];
  });
}

/** Clients of an API in a process of their own. */
export type Clients = Program<Load, Sample>;

export function startClients(setup: HttpClientsSetup): Promise<Clients> {
  return startProgram<HttpClientsSetup, Load, Sample>('http-clients.ts', setup);
}
