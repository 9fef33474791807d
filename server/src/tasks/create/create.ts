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
  /** The provider that new tasks are given to; it is recorded with each task. Not of test keys. */
  providerName: string;
  /** How long a POST waits for the outcome of acceptance; with 0 each new task is announced. */
  createWaitSeconds: number;
}

export type Created = { kind: 'created' | 'replayed'; task: Task };

/** How many transactions for creates of many accounts a process may run at once. */
const MAX_TRANSACTIONS = 2;
/** How many transactions may wait for locks of others. Each has a connection. */
const MAX_WAITING_TRANSACTIONS = 4;
const BUSY =
  'Too many requests are waiting. Send the request again, with the same Idempotency-Key.';

const LIMITS = {
  /** Creates of one transaction. */
  maxItems: 64,
  /** Creates that may wait for a transaction in a process. */
  maxWaiting: 5000,
  tooMany: () => new ApiError('service_busy', BUSY, { retryAfterSeconds: 1 }),
};

/**
 * Makes a function that creates the task of a valid request, or returns the task that the request's
 * key belongs to. Identical creates that run at the same time reserve once and share one task.
 *
 * Creates that arrive together share a transaction (decisions/0020), which waits for no other. A
 * create that may have to wait shares one with those of its account only.
 *
 * The function throws ApiError `insufficient_credits`, `idempotency_conflict`; `service_busy` for a
 * failure of the service itself, since the reserve may have been committed (C8).
 */
export function taskCreator(deps: CreateDeps): (checked: CheckedRequest) => Promise<Created> {
  const lanes = openLanes(deps);
  const createFree = batch<CheckedRequest, Created | ApiError | undefined>({
    ...LIMITS,
    name: 'create',
    concurrency: MAX_TRANSACTIONS,
    keyOf,
    laneOf: accountOf,
    work: (requests) => createGroup(deps, requests, 'skip'),
  });
  const tryFree = async (checked: CheckedRequest) => {
    if (mayWait(checked) || lanes.has(accountOf(checked))) return undefined;
    return createFree(checked).catch((error: unknown) => {
      if (error instanceof ApiError) throw error;
      // It may have committed.
      if (isDatabaseUnavailable(error)) throw failedCreate(deps.log, error);
      deps.log.warn({ err: error }, 'creates that shared a transaction are done one by one');
      return undefined;
    });
  };
  return async (checked) => {
    const outcome = (await tryFree(checked)) ?? (await lanes.create(checked));
    if (outcome instanceof ApiError) throw outcome;
    return outcome;
  };
}

/** Whether a create needs more than a new key and a balance of paid credits. */
function mayWait({ binding: { surface, apiKey }, request }: CheckedRequest): boolean {
  if (surface === WEB_SURFACE || surface === TEST_SURFACE) return true;
  return apiKey?.hasCap || namesUploads(request);
}

const accountOf = ({ binding }: CheckedRequest) => binding.accountId;

/** Two requests with one key are never in one transaction. */
function keyOf({ binding: { accountId, surface, idempotencyKey } }: CheckedRequest): string {
  return `${accountId} ${surface} ${idempotencyKey}`;
}

/** The creates of an account that wait. */
interface Lane {
  creates: number;
  /** Why a create failed on the database: those queued behind it fail too, without a wait. */
  gaveUp?: ApiError;
}

/** Makes the lanes in which creates wait: one transaction at a time for each account. */
function openLanes(deps: CreateDeps) {
  const lanes = new Map<string, Lane>();
  const create = batch<{ checked: CheckedRequest; lane: Lane }, Created | ApiError>({
    ...LIMITS,
    name: 'create_waiting',
    concurrency: MAX_WAITING_TRANSACTIONS,
    keyOf: ({ checked }) => keyOf(checked),
    laneOf: ({ checked }) => accountOf(checked),
    isOfOneLane: true,
    async work(items) {
      const lane = items[0]?.lane;
      if (lane?.gaveUp) throw lane.gaveUp;
      try {
        return await createAccountGroup(
          deps,
          items.map(({ checked }) => checked),
        );
      } catch (cause) {
        const error = failedCreate(deps.log, cause);
        if (lane) lane.gaveUp = error;
        throw error;
      }
    },
  });
  return {
    /** Whether creates of the account wait; further ones then wait behind them. */
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

/** The error of a create that failed for a reason of the service, whose outcome may be unknown. */
export function failedCreate(log: Log, cause: unknown): ApiError {
  log.error(
    { err: cause },
    'create failed; retry with the same Idempotency-Key to learn the outcome',
  );
  const message = 'Temporarily unavailable. Send the request again with the same Idempotency-Key.';
  return new ApiError('service_busy', message, { cause, retryAfterSeconds: 1 });
}

/** How many times a key may be released during one create. Then the response is 503. */
const ROUNDS = 5;

/**
 * Creates the tasks of requests, or returns the tasks that their keys belong to. Waits for other
 * transactions that have locked a key or a balance, so the requests are of one account. If one of
 * several fails, nothing of them was committed, and each is tried by itself.
 * @throws DatabaseUnavailable: the tasks may have been created
 */
export async function createAccountGroup(
  deps: CreateDeps,
  requests: CheckedRequest[],
): Promise<Array<Created | ApiError>> {
  let made: Array<Created | ApiError | undefined>;
  try {
    made = await createGroup(deps, requests, 'wait');
  } catch (error) {
    if (requests.length === 1 || isDatabaseUnavailable(error)) return [refusalOf(deps, error)];
    const outcomes: Array<Created | ApiError> = [];
    for (const one of requests) outcomes.push(...(await createAccountGroup(deps, [one])));
    return outcomes;
  }
  return together(
    ...requests.map((one, i) =>
      createdOrKnown(deps, one, made[i]).catch((error: unknown) => refusalOf(deps, error)),
    ),
  );
}

/** The outcome of a create that failed. */
function refusalOf({ log }: Pick<CreateDeps, 'log'>, error: unknown): ApiError {
  if (isDatabaseUnavailable(error)) throw error;
  return error instanceof ApiError ? error : failedCreate(log, error);
}

/** The outcome of a create; without one, its key was known, or has been released meanwhile. */
async function createdOrKnown(
  deps: CreateDeps,
  request: CheckedRequest,
  outcome: Created | ApiError | undefined,
  rounds = ROUNDS,
): Promise<Created | ApiError> {
  if (outcome) return outcome;
  const { accountId, surface, idempotencyKey } = request.binding;
  const known = await readBoundKey(deps.db, accountId, surface, idempotencyKey);
  const task = known && (await replay(deps.db, known, request.binding));
  if (task) return { kind: 'replayed', task };
  if (rounds === 1) throw new Error(`the key was released ${ROUNDS} times during the create`);
  const [again] = await createGroup(deps, [request], 'wait');
  return createdOrKnown(deps, request, again, rounds - 1);
}

/**
 * Creates tasks in one transaction. Each create is decided as if they had come one after the other.
 * First the keys are bound, then the balances are locked.
 * @param whenLocked with `skip` the transaction waits for no other one, so that creates of many
 *   accounts can share it (decisions/0020). With `wait` a refusal is thrown, to roll back
 * @returns undefined where the key is known or, with `skip`, something is locked or out of date
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
        .map((task) => [task, caps.refusal(task) ?? balances.reserve(reservationOf(task))]),
    );
    return write(tx, deps, { verdicts, balances, whenLocked });
  });
  const made = tasks.filter(
    ({ id }) => outcomes.has(id) && !(outcomes.get(id) instanceof ApiError),
  );
  for (const wakeUp of new Set(made.map(({ request }) => wakeUpFor(request)))) {
    deps.wakeUps.send(wakeUp);
  }
  return tasks.map(({ id }) => outcomes.get(id));
}

async function write(
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
    if (isRefused || verdict === 'unsettled') unused.push(task);
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
