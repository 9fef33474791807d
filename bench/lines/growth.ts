import { type Database, statement } from '../../server/src/database/database.ts';
import { createLog } from '../../server/src/kernel/log.ts';
import { bringDueUpToDate } from '../../server/src/ledger/lots.ts';
import { markExpired } from '../../server/src/storage/objects.ts';
import { claimDue, findDueWork } from '../../server/src/worker/claim.ts';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import {
  addFundedKeys,
  type BenchSetup,
  type FundedKey,
  makeFundedKeys,
  openBenchSetup,
  startClients,
} from '../bench-setup.ts';
import type { HttpClientsSetup, Target } from '../http-clients.ts';
import { type Comparison, compare } from '../rounds.ts';
import { measure } from '../sample.ts';
import { fillFolder } from './bulk-fill.ts';

export const ENDED_TASKS = Number(process.env.FRAMEWRIGHT_BENCH_TASKS ?? 50_000);
export const LIVE_TASKS = 10_000;
const KEPT_FOLDER = process.env.FRAMEWRIGHT_BENCH_DATABASE;
/** As many accounts as the filled database has. */
const ACCOUNTS = 200;
const KEYS_EACH = 75;
/** Few, so that the times are those of the statements and not of a queue. */
const CLIENTS = 4;
const CLAIM_PLACES = 8;
const ROUNDS = { count: 5, seconds: 2 };

/** The filled database in the place of the service, the empty one in the place of the floor. */
export interface Growth {
  fillSeconds: number;
  create: Comparison;
  read: Comparison;
  claim: Comparison;
  sweep: Comparison;
}

interface Side {
  bench: BenchSetup;
  url: string;
  keys: FundedKey[];
}

/** Times on a database with many tasks and on one with none, in turns. */
export async function measureGrowth(report: (line: string) => void): Promise<Growth> {
  await using temporary = await temporaryFolder();
  const folder = KEPT_FOLDER ?? temporary.path;
  const start = performance.now();
  await fillFolder(folder, { ended: ENDED_TASKS, live: LIVE_TASKS }, report);
  const fillSeconds = (performance.now() - start) / 1000;
  await using filledBench = await openBenchSetup(folder);
  await using emptyBench = await openBenchSetup();
  const filledKeys = await addKeys(filledBench.db);
  const emptyKeys = await makeFundedKeys(emptyBench.db, {
    accounts: ACCOUNTS,
    keysEach: KEYS_EACH,
  });
  const env = { ROLES: 'api', CREATE_WAIT_SECONDS: '0' };
  await using filledService = await filledBench.startService(env);
  await using emptyService = await emptyBench.startService(env);
  const filled: Side = { bench: filledBench, url: filledService.url, keys: filledKeys };
  const empty: Side = { bench: emptyBench, url: emptyService.url, keys: emptyKeys };
  const create = await compareRequests(filled, empty, 'create');
  for (const { bench } of [filled, empty]) await settle(bench.db);
  const read = await compareRequests(filled, empty, 'read');
  const claim = await compareStatements(filled, empty, claimAndRelease);
  const sweep = await compareStatements(filled, empty, sweepOnce);
  return { fillSeconds, create, read, claim, sweep };
}

const ACCOUNT_IDS = statement('bench_account_ids', 'select id from accounts');

/** The keys are those of the accounts that have the tasks. */
async function addKeys(db: Database): Promise<FundedKey[]> {
  const accounts = await db.query<{ id: string }>(ACCOUNT_IDS);
  return addFundedKeys(
    db,
    accounts.map(({ id }) => id),
    KEYS_EACH,
  );
}

const VACUUM = statement(
  'bench_vacuum_growth',
  'vacuum analyze tasks, idempotency_keys, task_history, ledger_transfers, ledger_balances',
);
const CHECKPOINT = statement('bench_checkpoint_growth', 'checkpoint');

/** Updates the planner's statistics of what was created. */
async function settle(db: Database): Promise<void> {
  await db.query(VACUUM);
  await db.query(CHECKPOINT);
}

async function compareRequests(
  filled: Side,
  empty: Side,
  act: HttpClientsSetup['act'],
): Promise<Comparison> {
  await using filledClients = await clientsOf(filled, act);
  await using emptyClients = await clientsOf(empty, act);
  return await compare(filledClients, emptyClients, ROUNDS);
}

async function clientsOf({ bench, url, keys }: Side, act: HttpClientsSetup['act']) {
  const targets = act === 'read' ? await withNewestTasks(bench.db, keys) : keys;
  return startClients({ url, clients: CLIENTS, act, targets });
}

const NEWEST_TASKS = statement(
  'bench_newest_tasks',
  `select wanted.account_id, newest.id
   from (select distinct unnest($1::text[]) as account_id) as wanted
   cross join lateral (select id from tasks where tasks.account_id = wanted.account_id
     order by created_at desc limit 1) as newest`,
);

/** Clients read tasks that they have just created. */
async function withNewestTasks(db: Database, keys: FundedKey[]): Promise<Target[]> {
  const rows = await db.query<{ account_id: string; id: string }>(NEWEST_TASKS, [
    keys.map(({ accountId }) => accountId),
  ]);
  const newest = new Map(rows.map(({ account_id: accountId, id }) => [accountId, id]));
  return keys.map(({ accountId, secret }) => ({ secret, taskId: newest.get(accountId) ?? '' }));
}

function compareStatements(
  filled: Side,
  empty: Side,
  act: (db: Database) => Promise<void>,
): Promise<Comparison> {
  const loadOf = ({ bench }: Side) => ({
    send: ({ seconds }: { seconds: number }) =>
      measure({ clients: CLIENTS, seconds }, () => act(bench.db)),
  });
  return compare(loadOf(filled), loadOf(empty), ROUNDS);
}

const RELEASE = statement(
  'bench_release',
  'update tasks set leased_until = null where id = any($1)',
);

/** Leases due tasks, of those that the creates have left, and releases them. */
async function claimAndRelease(db: Database): Promise<void> {
  const limits = new Map([['local', CLAIM_PLACES]]);
  const tasks = await claimDue(db, 'submit', { slots: CLAIM_PLACES, limits, accountLimit: 1 });
  if (tasks.length < CLAIM_PLACES) throw new Error(`only ${tasks.length} tasks were due`);
  await db.query(RELEASE, [tasks.map(({ id }) => id)]);
}

const log = createLog({ level: 'warn' });

/** What a worker looks for again and again: due tasks, expired objects, expired credits. */
async function sweepOnce(db: Database): Promise<void> {
  await findDueWork(db, ['local'], 0.5);
  await markExpired(db);
  await bringDueUpToDate({ db, log });
}
