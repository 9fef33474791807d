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
  withTasks,
} from '../bench-setup.ts';
import { type Comparison, compare, runClients } from '../load.ts';
import { fillFolder } from './bulk-fill.ts';

export const ENDED_TASKS = Number(process.env.FRAMEWRIGHT_BENCH_TASKS ?? 50_000);
export const LIVE_TASKS = 10_000;
const KEPT_FOLDER = process.env.FRAMEWRIGHT_BENCH_DATABASE;
/** As many accounts as the filled database has. */
const KEY_COUNTS = { accounts: 200, keysEach: 75 };
/** Few, so that the times are those of the statements and not of a queue. */
const CLIENTS = 4;
const CLAIM_PLACES = 8;
const ROUNDS = { count: 5, seconds: 2 };

interface Side {
  bench: BenchSetup;
  url: string;
  keys: FundedKey[];
}

/** The filled database in the place of the service, the empty one in the place of the floor. */
export async function measureGrowth(report: (line: string) => void) {
  await using temporary = await temporaryFolder();
  const folder = KEPT_FOLDER ?? temporary.path;
  const start = performance.now();
  await fillFolder(folder, { ended: ENDED_TASKS, live: LIVE_TASKS }, report);
  const fillSeconds = (performance.now() - start) / 1000;
  await using filledBench = await openBenchSetup(folder);
  await using emptyBench = await openBenchSetup();
  const filledKeys = await addKeys(filledBench.db);
  const emptyKeys = await makeFundedKeys(emptyBench.db, KEY_COUNTS);
  const env = { ROLES: 'api', CREATE_WAIT_SECONDS: '0' };
  await using filledService = await filledBench.startService(env);
  await using emptyService = await emptyBench.startService(env);
  const filled: Side = { bench: filledBench, url: filledService.url, keys: filledKeys };
  const empty: Side = { bench: emptyBench, url: emptyService.url, keys: emptyKeys };
  const create = await compareRequests(filled, empty, 'create');
  for (const { bench } of [filled, empty]) {
    await bench.db.query(VACUUM); // statistics of what was created
    await bench.db.query(CHECKPOINT);
  }
  const read = await compareRequests(filled, empty, 'read');
  const claim = await compareStatements(filled, empty, claimAndRelease);
  const sweep = await compareStatements(filled, empty, sweepOnce);
  return { fillSeconds, create, read, claim, sweep };
}

const ACCOUNT_IDS = statement('bench_account_ids', 'select id from accounts');

/** The keys are those of the accounts that have the tasks. */
async function addKeys(db: Database): Promise<FundedKey[]> {
  const accounts = await db.query<{ id: string }>(ACCOUNT_IDS);
  const ids = accounts.map(({ id }) => id);
  return addFundedKeys(db, ids, KEY_COUNTS.keysEach);
}

const VACUUM = statement(
  'bench_vacuum_growth',
  'vacuum analyze tasks, idempotency_keys, task_history, ledger_transfers, ledger_balances',
);
const CHECKPOINT = statement('bench_checkpoint_growth', 'checkpoint');

async function compareRequests(
  filled: Side,
  empty: Side,
  act: 'create' | 'read',
): Promise<Comparison> {
  const clientsOf = async ({ bench, url, keys }: Side) => {
    const targets = act === 'read' ? await withTasks(bench.db, keys) : keys;
    return startClients({ url, clients: CLIENTS, act, targets });
  };
  await using filledClients = await clientsOf(filled);
  await using emptyClients = await clientsOf(empty);
  return await compare(filledClients, emptyClients, ROUNDS);
}

function compareStatements(
  filled: Side,
  empty: Side,
  act: (db: Database) => Promise<void>,
): Promise<Comparison> {
  const loadOf = ({ bench }: Side) => ({
    send: ({ seconds }: { seconds: number }) =>
      runClients(CLIENTS, { seconds }, () => act(bench.db)),
  });
  return compare(loadOf(filled), loadOf(empty), ROUNDS);
}

const RELEASE = statement(
  'bench_release',
  'update tasks set leased_until = null where id = any($1)',
);

/** Leases due tasks that the creates made, and releases them. */
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
