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

/** An embedded database in a data folder of its own, for services to be started on. */
export interface Stage extends AsyncDisposable {
  db: Database;
  databaseUrl: string;
  startService(env: Record<string, string>): Promise<RunningService>;
}

export interface RunningService extends AsyncDisposable {
  url: string;
  pid: number;
}

/** Makes a fresh stage; it goes away with `await using`, after what was started on it. */
export async function openStage(): Promise<Stage> {
  const folder = await temporaryFolder();
  const log = createLog({ level: 'warn' });
  const database = await openConfiguredDatabase(readConfig({ DATA_DIR: folder.path }), log);
  return {
    db: database.db,
    databaseUrl: database.url,
    async startService(env) {
      const service = await startServiceProcess({ DATA_DIR: folder.path, ...env });
      return {
        url: service.url,
        pid: service.process.pid ?? 0,
        // At once: what it still works on is of no use to anybody.
        [Symbol.asyncDispose]: async () => void (await service.kill('SIGKILL')),
      };
    },
    async [Symbol.asyncDispose]() {
      await database.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export interface Customer {
  accountId: string;
  secret: string;
}

const CREDITS = 1_000_000_000;

const INSERT_KEYS = statement(
  'bench_keys',
  `insert into api_keys (id, account_id, secret_hash)
   select * from unnest($1::text[], $2::text[], $3::bytea[])`,
);

/** Makes accounts that can pay for everything, each with as many keys; one entry for each key. */
export async function makeCustomers(
  db: Database,
  count: { accounts: number; keysEach: number },
): Promise<Customer[]> {
  const accountIds = await Promise.all(Array.from({ length: count.accounts }, () => fund(db)));
  const rounds = Array.from({ length: count.keysEach }, () => accountIds);
  const customers = rounds.flat().map((accountId) => ({ accountId, secret: newSecret() }));
  await db.query(INSERT_KEYS, [
    customers.map(() => newId('apiKey')),
    customers.map(({ accountId }) => accountId),
    customers.map(({ secret }) => hashSecret(secret)),
  ]);
  return customers;
}

async function fund(db: Database): Promise<string> {
  const reference = crypto.randomUUID();
  const accountId = await createAccount(db, `${reference}@example.com`);
  await grant(db, { accountId, credits: CREDITS, kind: 'paid', reference });
  return accountId;
}
