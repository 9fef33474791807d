import {
  type Database,
  first,
  namedStatement,
  type Queryable,
  statement,
  type Transaction,
  together,
} from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { reserveWithPromotional } from '../../ledger/kinds/promotional.ts';
import { reserveTest } from '../../ledger/kinds/test-credits.ts';
import { reserve } from '../../ledger/ledger.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { TEST_PROVIDER } from '../../providers/test-provider.ts';
import type { WakeUps } from '../../wake-ups/wake-ups.ts';
import { readTasks, type Task } from '../task.ts';
import { renewUploads } from '../uploads/uploads.ts';
import { announce } from './announce.ts';
import { type Binding, type CheckedRequest, WEB_SURFACE } from './checked-request.ts';
import { insertTasks, newTask, wakeUpFor } from './insert.ts';
import { requireBelowCap } from './key-cap.ts';

export interface CreateDeps {
  db: Database;
  wakeUps: Pick<WakeUps, 'send'>;
  log: Log;
  /** The provider that new tasks are given to; it is recorded with each task. Not of test keys. */
  providerName: string;
  /** How long a POST waits for the outcome of acceptance; with 0 each new task is announced. */
  createWaitSeconds: number;
}

/**
 * The row of a known key: the body that it belongs to, and its task unless the key was released.
 */
export interface KnownKey {
  fingerprint: Buffer;
  task_id: string | null;
}

/** For a statement that admits a request: the row of the caller's Idempotency-Key. */
export const KEY_OF_CALLER = {
  columns: 'known.fingerprint, known.task_id',
  joins: `left join idempotency_keys known on known.account_id = caller.account_id
       and known.surface = caller.surface and known.key = caller.argument`,
} as const;

/**
 * Returns the task that a known key belongs to, and announces it, since the client is about to get
 * it.
 * @returns undefined when the key was released: the request may create a task
 * @throws ApiError `idempotency_conflict` when the key was used with another body, even if it was
 * released since
 */
export async function replay(
  db: Database,
  known: KnownKey,
  fingerprint: Buffer,
): Promise<Task | undefined> {
  if (!known.fingerprint.equals(fingerprint)) {
    throw new ApiError(
      'idempotency_conflict',
      'This Idempotency-Key was used with a different body. Use a new key for a new request.',
    );
  }
  return known.task_id === null ? undefined : announce(db, known.task_id);
}

/** The provider of a new task. */
export function providerOfNew(
  { providerName }: Pick<CreateDeps, 'providerName'>,
  { surface }: Pick<Binding, 'surface'>,
): string {
  return surface === TEST_SURFACE ? TEST_PROVIDER : providerName;
}

export type Created = { kind: 'created' | 'replayed'; task: Task };

/** How many times a key may be released during one create. Then the response is 503. */
const ROUNDS = 5;

/**
 * Creates the task of a valid request, or returns the task that the request's key belongs to.
 * Identical creates that run at the same time reserve once and share one task.
 * @throws ApiError `insufficient_credits`, `idempotency_conflict`; `service_busy` for a failure of
 * the service itself, since the reserve may have been committed (C8)
 */
export async function createTask(deps: CreateDeps, checked: CheckedRequest): Promise<Created> {
  const { binding } = checked;
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const task = await reserveAndInsert(deps, checked);
      if (task) return { kind: 'created', task };
      const known = await readBoundKey(deps.db, binding);
      const replayed = known && (await replay(deps.db, known, binding.fingerprint));
      if (replayed) return { kind: 'replayed', task: replayed };
    }
    throw new Error(`the key was released ${ROUNDS} times during the create`);
  } catch (cause) {
    throw cause instanceof ApiError ? cause : failedCreate(deps.log, cause);
  }
}

/** The error of a create that failed for a reason of the service, whose outcome may be unknown. */
export function failedCreate(log: Log, cause: unknown): ApiError {
  log.error(
    { err: cause },
    'a create failed; the client learns the outcome if it retries with the same Idempotency-Key',
  );
  const message = 'Temporarily unavailable. Send the request again with the same Idempotency-Key.';
  return new ApiError('service_busy', message, { cause, retryAfterSeconds: 1 });
}

const READ_KEY = statement(
  'key_read',
  `select fingerprint, task_id from idempotency_keys
   where account_id = $1 and surface = $2 and key = $3`,
);

/** The row of a request's Idempotency-Key; undefined if the key is new. */
export async function readBoundKey(
  db: Queryable,
  { accountId, surface, idempotencyKey }: Binding,
): Promise<KnownKey | undefined> {
  return first<KnownKey>(db, READ_KEY, [accountId, surface, idempotencyKey]);
}

async function reserveAndInsert(
  deps: CreateDeps,
  checked: CheckedRequest,
): Promise<Task | undefined> {
  const { binding, price } = checked;
  const { accountId, apiKey } = binding;
  const row = newTask(checked);
  const { id } = row;
  const task = await deps.db.transaction(async (tx) => {
    if (!(await bindKey(tx, binding, id))) return undefined;
    if (apiKey) await requireBelowCap(tx, apiKey, price.credits);
    const reservation = { accountId, taskId: id, credits: price.credits };
    if (binding.surface === WEB_SURFACE) {
      const promotionalCredits = await reserveWithPromotional(tx, reservation);
      const [inserted] = await insertTasks(tx, deps, [{ ...row, promotionalCredits }]);
      await renewUploads(tx, accountId, checked.request);
      return inserted;
    }
    const reserving = binding.surface === TEST_SURFACE ? reserveTest : reserve;
    const [, [inserted]] = await together(
      reserving(tx, reservation),
      insertTasks(tx, { ...deps, providerName: providerOfNew(deps, binding) }, [row]),
    );
    await renewUploads(tx, accountId, checked.request);
    return inserted;
  });
  if (task) deps.wakeUps.send(wakeUpFor(checked.request));
  return task;
}

const KEY_LOCK = keyLock(':accountId::text', ':surface::text', ':idempotencyKey::text');

const BIND = namedStatement(
  'key_bind',
  ['accountId', 'surface', 'idempotencyKey', 'fingerprint', 'taskId'],
  `with locked as materialized (
     select pg_advisory_xact_lock(${KEY_LOCK}))
   insert into idempotency_keys as k (account_id, surface, key, fingerprint, task_id)
   select :accountId::text, :surface::text, :idempotencyKey::text, :fingerprint::bytea,
     :taskId::text from locked
   on conflict (account_id, surface, key) do update set task_id = excluded.task_id
     where k.task_id is null and k.fingerprint = excluded.fingerprint
   returning task_id`,
);

/**
 * The number of the advisory lock of a key. Whoever binds the key holds it until the end of the
 * transaction, so that a transaction of many creates can tell that it would wait for the key.
 */
export function keyLock(accountId: string, surface: string, key: string): string {
  return `hashtextextended(concat_ws(' ', ${accountId}, ${surface}, ${key}), 0)`;
}

/** Binds a new or released key. If another create is binding it, waits for that transaction. */
async function bindKey(tx: Transaction, binding: Binding, taskId: string): Promise<boolean> {
  const rows = await tx.query(BIND, BIND.values({ ...binding, taskId }));
  return rows.length === 1;
}

/** Reads a task that must exist. */
export async function readTask(db: Queryable, id: string): Promise<Task> {
  const [task] = await readTasks(db, [id]);
  if (!task) throw new Error(`there is no task ${id}`);
  return task;
}
