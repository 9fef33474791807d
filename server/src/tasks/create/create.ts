import {
  type Database,
  isDatabaseUnavailable,
  type Transaction,
  together,
} from '../../database/database.ts';
import { batch } from '../../kernel/batch.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import {
  type LockedBalances,
  lockBalances,
  type Reserved,
  type Spends,
  type WhenLocked,
} from '../../ledger/reserve.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { namesUploads, renewUploads } from '../../uploads/uploads.ts';
import type { Task } from '../task.ts';
import type { WakeUps } from '../wake-ups.ts';
import { bindKeys, readBoundKey, replay, unbindKeys } from './idempotency-keys.ts';
import { readSpending } from './key-cap.ts';
import {
  type CheckedRequest,
  insertTasks,
  type NewTask,
  newTask,
  WEB_SURFACE,
  wakeUpFor,
} from './new-task.ts';

export interface CreateDeps {
  db: Database;
  wakeUps: Pick<WakeUps, 'send'>;
  log: Log;
  /** How long a POST waits for acceptance; with 0, each new task is announced at once. */
  createWaitSeconds: number;
}

export type Created = { kind: 'created' | 'replayed'; task: Task };

/** Concurrent transactions per process for creates of many accounts. */
const MAX_TRANSACTIONS = 2;
/** Transactions that may wait for another's locks. Each holds a database connection. */
const MAX_WAITING_TRANSACTIONS = 4;
const BUSY =
  'Too many requests are waiting. Send the request again, with the same Idempotency-Key.';

const LIMITS = {
  /** Creates per transaction. */
  maxItems: 64,
  /** Per process. */
  maxWaiting: 5000,
  tooMany: () => new ApiError('service_busy', BUSY, { retryAfterSeconds: 1 }),
};

/**
 * Returns a function that creates the task of a valid request, or returns the task that its
 * Idempotency-Key is bound to. Identical concurrent creates reserve once and share one task.
 * Creates that arrive together are micro-batched into a transaction that never waits for a lock
 * (decisions/0020). A create that may have to wait shares a transaction only with creates of its
 * own account.
 * @throws ApiError (in the function) `insufficient_credits` or `idempotency_conflict`, and
 *   `service_busy` for an internal failure, since the reserve may have been committed (C8)
 */
export function taskCreator(deps: CreateDeps): (checked: CheckedRequest) => Promise<Created> {
  const lanes = openLanes(deps);
  const createWithoutWaiting = batch<CheckedRequest, Created | ApiError | undefined>({
    ...LIMITS,
    name: 'create',
    concurrency: MAX_TRANSACTIONS,
    keyOf,
    laneOf: accountOf,
    work: (requests) => createGroup(deps, requests, 'skip'),
  });
  const tryWithoutWaiting = async (checked: CheckedRequest) => {
    if (mayNeedToWait(checked) || lanes.has(accountOf(checked))) return undefined;
    return createWithoutWaiting(checked).catch((error: unknown) => {
      if (error instanceof ApiError) throw error;
      // The create may have committed.
      if (isDatabaseUnavailable(error)) throw failedCreate(deps.log, error);
      deps.log.warn(
        { err: error },
        'a shared create failed: it is retried with those of its account',
      );
      return undefined;
    });
  };
  return async (checked) => {
    const outcome = (await tryWithoutWaiting(checked)) ?? (await lanes.create(checked));
    if (outcome instanceof ApiError) throw outcome;
    return outcome;
  };
}

/** Whether a create needs more than a new Idempotency-Key and a balance of paid credits. */
function mayNeedToWait({ binding: { surface, apiKey }, request }: CheckedRequest): boolean {
  if (surface === WEB_SURFACE || surface === TEST_SURFACE) return true;
  return apiKey?.hasCap || namesUploads(request);
}

const accountOf = ({ binding }: CheckedRequest) => binding.accountId;

/** Creates with the same Idempotency-Key never share a transaction. */
function keyOf({ binding: { accountId, surface, idempotencyKey } }: CheckedRequest): string {
  return `${accountId} ${surface} ${idempotencyKey}`;
}

/** The creates of one account that may have to wait for a lock. */
interface Lane {
  creates: number;
  /** Set when a create failed on the database: those queued behind it fail at once. */
  failure?: ApiError;
}

/** One transaction at a time per account. */
function openLanes(deps: CreateDeps) {
  const lanes = new Map<string, Lane>();
  const create = batch<{ checked: CheckedRequest; lane: Lane }, Created | ApiError>({
    ...LIMITS,
    name: 'create_waiting',
    concurrency: MAX_WAITING_TRANSACTIONS,
    keyOf: ({ checked }) => keyOf(checked),
    laneOf: ({ checked }) => accountOf(checked),
    oneLanePerBatch: true,
    async work(items) {
      const lane = items[0]?.lane;
      if (lane?.failure) throw lane.failure;
      try {
        return await createAccountGroup(
          deps,
          items.map(({ checked }) => checked),
        );
      } catch (cause) {
        const error = failedCreate(deps.log, cause);
        if (lane) lane.failure = error;
        throw error;
      }
    },
  });
  return {
    /** Whether the account has creates here: then new ones queue behind them. */
    has: (accountId: string) => lanes.has(accountId),
    async create(checked: CheckedRequest): Promise<Created | ApiError> {
      const accountId = accountOf(checked);
      const lane = lanes.get(accountId) ?? { creates: 0 };
      lanes.set(accountId, lane);
      lane.creates += 1;
      try {
        return await create({ checked, lane });
      } finally {
        lane.creates -= 1;
        if (lane.creates === 0) lanes.delete(accountId);
      }
    },
  };
}

/** Logs a failure. @returns the error for a create whose outcome may be unknown */
function failedCreate(log: Log, cause: unknown): ApiError {
  log.error(
    { err: cause },
    'create failed; retry with the same Idempotency-Key to learn the outcome',
  );
  const message = 'Temporarily unavailable. Send the request again with the same Idempotency-Key.';
  return new ApiError('service_busy', message, { cause, retryAfterSeconds: 1 });
}

/** How often its Idempotency-Key may be released during a create before the response is 503. */
const MAX_ROUNDS = 5;

/**
 * Creates the tasks of one account's requests, or returns those that their Idempotency-Keys are
 * bound to. It waits for locked keys and balances, hence one account only. If one of several
 * requests fails, all are rolled back and each is retried alone.
 * @throws DatabaseUnavailable: the tasks may have been created
 */
async function createAccountGroup(
  deps: CreateDeps,
  requests: CheckedRequest[],
): Promise<Array<Created | ApiError>> {
  let made: Array<Created | ApiError | undefined>;
  try {
    made = await createGroup(deps, requests, 'wait');
  } catch (error) {
    if (requests.length === 1 || isDatabaseUnavailable(error)) return [refusalOf(deps, error)];
    const outcomes: Array<Created | ApiError> = [];
    for (const request of requests) outcomes.push(...(await createAccountGroup(deps, [request])));
    return outcomes;
  }
  return together(
    ...requests.map((request, i) =>
      createdOrKnown(deps, request, made[i]).catch((error: unknown) => refusalOf(deps, error)),
    ),
  );
}

function refusalOf({ log }: Pick<CreateDeps, 'log'>, error: unknown): ApiError {
  if (isDatabaseUnavailable(error)) throw error;
  return error instanceof ApiError ? error : failedCreate(log, error);
}

/**
 * Without an outcome, the Idempotency-Key was bound already: finds its task, or creates one if the
 * key was released.
 */
async function createdOrKnown(
  deps: CreateDeps,
  request: CheckedRequest,
  outcome: Created | ApiError | undefined,
  rounds = MAX_ROUNDS,
): Promise<Created | ApiError> {
  if (outcome) return outcome;
  const { accountId, surface, idempotencyKey } = request.binding;
  const known = await readBoundKey(deps.db, accountId, surface, idempotencyKey);
  const task = known && (await replay(deps.db, known, request.binding));
  if (task) return { kind: 'replayed', task };
  if (rounds === 1) throw new Error(`the key was released ${MAX_ROUNDS} times during the create`);
  const [again] = await createGroup(deps, [request], 'wait');
  return createdOrKnown(deps, request, again, rounds - 1);
}

/**
 * Creates tasks in one transaction; each is decided as if they came one after the other.
 * @param whenLocked `skip`: never waits for a lock, so that creates of many accounts can share the
 *   transaction. `wait`: throws a refusal, to roll back
 * @returns undefined where the key is bound already or, with `skip`, a row is locked or out of date
 */
async function createGroup(
  deps: CreateDeps,
  requests: CheckedRequest[],
  whenLocked: WhenLocked,
): Promise<Array<Created | ApiError | undefined>> {
  const tasks = requests.map(newTask);
  const outcomes = await deps.db.transaction(async (tx) => {
    const [bound, balances] = await together(
      bindKeys(tx, tasks, whenLocked),
      lockBalances(tx, tasks.map(reservationOf), whenLocked),
    );
    const caps = await readSpending(tx, tasks);
    const verdicts = new Map(
      tasks
        .filter(({ id }) => bound.has(id))
        .map((task) => [task, caps.spendOrRefuse(task) ?? balances.reserve(reservationOf(task))]),
    );
    return insertReserved(tx, deps, { verdicts, balances, whenLocked });
  });
  const made = tasks.filter(
    ({ id }) => outcomes.has(id) && !(outcomes.get(id) instanceof ApiError),
  );
  for (const wakeUp of new Set(made.map(({ request }) => wakeUpFor(request)))) {
    deps.wakeUps.send(wakeUp);
  }
  return tasks.map(({ id }) => outcomes.get(id));
}

/** With `wait`, throws a refusal. Unbinds the Idempotency-Keys of tasks that are not inserted. */
async function insertReserved(
  tx: Transaction,
  deps: CreateDeps,
  decided: { verdicts: Map<NewTask, Reserved>; balances: LockedBalances; whenLocked: WhenLocked },
): Promise<Map<string, Created | ApiError>> {
  const outcomes = new Map<string, Created | ApiError>();
  const reserved: NewTask[] = [];
  const unused: NewTask[] = [];
  for (const [task, verdict] of decided.verdicts) {
    const isRefused = verdict instanceof ApiError;
    if (isRefused && decided.whenLocked === 'wait') throw verdict;
    if (isRefused) outcomes.set(task.id, verdict);
    if (isRefused || verdict === 'undecided') unused.push(task);
    else reserved.push({ ...task, ...verdict });
  }
  for (const { binding, request } of reserved) await renewUploads(tx, binding.accountId, request);
  const [inserted] = await together(
    reserved.length === 0 ? Promise.resolve([]) : insertTasks(tx, deps, reserved),
    decided.balances.book(),
    unused.length === 0 ? Promise.resolve() : unbindKeys(tx, unused),
  );
  for (const task of inserted) outcomes.set(task.id, { kind: 'created', task });
  return outcomes;
}

function reservationOf({ id, binding, price }: NewTask) {
  const { accountId, surface } = binding;
  return { accountId, taskId: id, credits: price.credits, spends: spendsOf(surface) };
}

function spendsOf(surface: string): Spends {
  if (surface === TEST_SURFACE) return 'test';
  return surface === WEB_SURFACE ? 'promotional_first' : 'paid';
}
