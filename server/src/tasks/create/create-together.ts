import { setTimeout as delay } from 'node:timers/promises';
import {
  DatabaseUnavailable,
  namedStatement,
  statement,
  type Transaction,
  together,
} from '../../database/database.ts';
import { batch } from '../../kernel/batch.ts';
import { ApiError } from '../../kernel/errors.ts';
import { insufficientCredits } from '../../ledger/ledger.ts';
import {
  type LockedBalances,
  lockBalances,
  type WhenLocked,
} from '../../ledger/reserve-together.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import type { Task } from '../task.ts';
import { namesUploads } from '../uploads/uploads.ts';
import { type CheckedRequest, WEB_SURFACE } from './checked-request.ts';
import { type CreateDeps, type Created, createTask, failedCreate, keyLock } from './create.ts';
import { insertTasks, type NewTask, newTask, wakeUpFor } from './insert.ts';
import { openSetAside } from './set-aside.ts';

/** How many creates may share a transaction. */
const MAX_CREATES = 64;
/** How many such transactions a process may run at once. */
const MAX_TRANSACTIONS = 2;
/** How many transactions may wait for the balance of an account that another one has locked. */
const MAX_ASIDE_TRANSACTIONS = 4;
/** How many creates may wait for a transaction in a process. */
const MAX_WAITING = 5000;
/**
 * How long a create waits between its tries to lock a balance that is in use. Other transactions
 * on it usually take a few milliseconds.
 */
const PAUSES_MS = [10, 40];
const BUSY =
  'Too many requests are waiting. Send the request again, with the same Idempotency-Key.';

/** The surfaces whose creates share no transaction. */
const ALONE: ReadonlySet<string> = new Set([WEB_SURFACE, TEST_SURFACE]);

/**
 * Makes a function that does the same as {@link createTask}. Creates that arrive together share a
 * transaction (decisions/0020): first their keys are bound, then their balances are locked. Each
 * create is decided as if they had come one after the other. The transaction waits for no other:
 * a create whose balance is in use is set aside, and shares a transaction with those of its account
 * only. A create that needs more than that, because its key is known or in use, its balance must be
 * brought up to date, its API key has a spending cap or it renews uploads, is left to
 * {@link createTask}. So are those that do not spend paid credits only: of the website and of test
 * keys.
 */
export function openCreates(deps: CreateDeps): (checked: CheckedRequest) => Promise<Created> {
  const createShared = openShared(deps);
  return async (checked) => {
    const { surface, apiKey } = checked.binding;
    const isAlone = ALONE.has(surface) || apiKey?.lockCap || namesUploads(checked.request);
    if (isAlone) return createTask(deps, checked);
    const outcome = await createShared(checked).catch((error: unknown) => {
      if (error instanceof ApiError) throw error;
      // The transaction may have committed.
      if (error instanceof DatabaseUnavailable) throw failedCreate(deps.log, error);
      deps.log.warn({ err: error }, 'creates that shared a transaction are done one by one');
      return 'alone' as const;
    });
    if (outcome === 'alone' || outcome === 'aside') return createTask(deps, checked);
    if (outcome instanceof ApiError) throw outcome;
    return { kind: 'created', task: outcome };
  };
}

/** Makes a function that does a create with others, or with those of its account. */
function openShared(deps: CreateDeps): (checked: CheckedRequest) => Promise<Outcome> {
  const shared = {
    maxItems: MAX_CREATES,
    maxWaiting: MAX_WAITING,
    tooMany: () => new ApiError('service_busy', BUSY, { retryAfterSeconds: 1 }),
  };
  const create = batch<CheckedRequest, Outcome>({
    ...shared,
    name: 'create',
    concurrency: MAX_TRANSACTIONS,
    keyOf: nameOf,
    laneOf: ({ binding }) => binding.accountId,
    work: (requests) => createTogether(deps, requests, 'skip'),
  });
  const setAside = openSetAside<Outcome>({
    ...shared,
    log: deps.log,
    concurrency: MAX_ASIDE_TRANSACTIONS,
    nameOf,
    work: (requests) => createTogether(deps, requests, 'wait'),
  });
  return async (checked) => {
    for (const pause of [...PAUSES_MS, null]) {
      if (setAside.has(checked.binding.accountId)) break;
      const outcome = await create(checked);
      if (outcome !== 'aside') return outcome;
      if (pause !== null) await delay(pause);
    }
    return setAside.create(checked);
  };
}

/**
 * The new task; an error for its client; `alone`: to be done by {@link createTask}; or `aside`: the
 * balance is in use.
 */
type Outcome = Task | ApiError | 'alone' | 'aside';

/** In the order of the requests. Only the order of keys and balances in the database is sorted. */
async function createTogether(
  deps: CreateDeps,
  requests: CheckedRequest[],
  whenLocked: WhenLocked,
): Promise<Outcome[]> {
  const tasks = requests.map(newTask);
  const outcomes = await deps.db.transaction((tx) => createAll(tx, deps, { tasks, whenLocked }));
  for (const wakeUp of new Set(requests.map(({ request }) => wakeUpFor(request)))) {
    deps.wakeUps.send(wakeUp);
  }
  return tasks.map(({ id }) => outcomes.get(id) ?? 'alone');
}

async function createAll(
  tx: Transaction,
  deps: CreateDeps,
  { tasks, whenLocked }: { tasks: NewTask[]; whenLocked: WhenLocked },
): Promise<Map<string, Outcome>> {
  const [bound, balances] = await together(
    bindKeys(tx, tasks),
    lockBalances(
      tx,
      tasks.map(({ binding }) => binding.accountId),
      whenLocked,
    ),
  );
  const outcomes = new Map<string, Outcome>();
  const reserved: NewTask[] = [];
  const unused: NewTask[] = [];
  for (const task of tasks.filter(({ id }) => bound.has(id))) {
    const verdict = reserveFor(balances, task);
    (verdict === 'reserved' ? reserved : unused).push(task);
    if (verdict instanceof ApiError) outcomes.set(task.id, verdict);
    // It may be locked, or have to be brought up to date: a transaction that waits can tell.
    if (verdict === 'unsettled' && whenLocked === 'skip') outcomes.set(task.id, 'aside');
  }
  const [inserted] = await together(
    reserved.length === 0 ? Promise.resolve([]) : insertTasks(tx, deps, reserved),
    balances.book(),
    unused.length === 0 ? Promise.resolve() : unbindKeys(tx, unused),
  );
  for (const task of inserted) outcomes.set(task.id, task);
  return outcomes;
}

function reserveFor(balances: LockedBalances, { id, binding, price }: NewTask) {
  const { accountId } = binding;
  const verdict = balances.reserve({ accountId, taskId: id, credits: price.credits });
  return verdict === 'insufficient' ? insufficientCredits(price.credits) : verdict;
}

/** Two requests with one name are never in one transaction. */
function nameOf({ binding: { accountId, surface, idempotencyKey } }: CheckedRequest): string {
  return `${accountId} ${surface} ${idempotencyKey}`;
}

// In the order of their names, so that two transactions with several keys can't deadlock. A key
// that another create is binding is left out. Only a process of an older version, which takes no
// advisory lock, or a key that is being released or erased, is waited for.
const BIND = namedStatement(
  'key_bind_together',
  ['accountIds', 'surfaces', 'keys', 'fingerprints', 'taskIds'],
  `insert into idempotency_keys (account_id, surface, key, fingerprint, task_id)
   select account_id, surface, key, fingerprint, task_id
   from unnest(:accountIds::text[], :surfaces::text[], :keys::text[], :fingerprints::bytea[],
     :taskIds::text[]) as bound (account_id, surface, key, fingerprint, task_id)
   where pg_try_advisory_xact_lock(${keyLock('account_id', 'surface', 'key')})
   order by account_id, surface, key
   on conflict (account_id, surface, key) do nothing returning task_id`,
);

/** Binds the keys that are new. @returns the ids of their tasks */
async function bindKeys(tx: Transaction, tasks: NewTask[]): Promise<Set<string>> {
  const values = BIND.values({
    ...namesOf(tasks),
    fingerprints: tasks.map(({ binding }) => binding.fingerprint),
    taskIds: tasks.map(({ id }) => id),
  });
  const rows = await tx.query<{ task_id: string }>(BIND, values);
  return new Set(rows.map((row) => row.task_id));
}

const UNBIND = statement(
  'key_unbind_together',
  `delete from idempotency_keys k
   using unnest($1::text[], $2::text[], $3::text[]) as unused (account_id, surface, key)
   where k.account_id = unused.account_id and k.surface = unused.surface and k.key = unused.key`,
);

/** Takes keys back that this transaction has bound. */
async function unbindKeys(tx: Transaction, tasks: NewTask[]): Promise<void> {
  const { accountIds, surfaces, keys } = namesOf(tasks);
  await tx.query(UNBIND, [accountIds, surfaces, keys]);
}

/** The columns of the primary key of `idempotency_keys`. */
function namesOf(tasks: NewTask[]) {
  return {
    accountIds: tasks.map(({ binding }) => binding.accountId),
    surfaces: tasks.map(({ binding }) => binding.surface),
    keys: tasks.map(({ binding }) => binding.idempotencyKey),
  };
}
