import {
  type Database,
  isDatabaseUnavailable,
  type Transaction,
  together,
} from '../../database/database.ts';
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
import { renewUploads } from '../../uploads/uploads.ts';
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
 *   accounts can share it (decisions/0020). With `wait` a refusal is thrown, for nothing to commit
 * @returns undefined where the key is known or, with `skip`, something is locked or out of date
 */
export async function createGroup(
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
