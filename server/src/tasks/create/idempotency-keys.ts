import {
  type Database,
  first,
  namedStatement,
  type Queryable,
  queryFirst,
  statement,
  type Transaction,
} from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { WhenLocked } from '../../ledger/reserve.ts';
import { TASK_COLUMNS, type Task } from '../task.ts';
import type { Binding, NewTask } from './new-task.ts';

/** An Idempotency-Key that was bound to a task. */
export interface BoundKey {
  /** Of the request's body. */
  fingerprint: Buffer;
  /** Null if the key was released. */
  task_id: string | null;
}

/** SQL for the admission query: the row of the caller's Idempotency-Key. */
export const KEY_OF_CALLER = {
  columns: 'known.fingerprint, known.task_id',
  joins: `left join idempotency_keys known on known.account_id = caller.account_id
       and known.surface = caller.surface and known.key = caller.argument`,
} as const;

export const readBoundKey = queryFirst<[accountId: string, surface: string, key: string], BoundKey>(
  'key_read',
  `select fingerprint, task_id from idempotency_keys
   where account_id = $1 and surface = $2 and key = $3`,
);

/**
 * Returns the task of a bound key and announces it, since the client is about to see it.
 * @returns undefined when the key was released: the request may create a task
 * @throws ApiError `idempotency_conflict` when the key was used with another body, even if released
 */
export async function replay(
  db: Database,
  known: BoundKey,
  { fingerprint }: Pick<Binding, 'fingerprint'>,
): Promise<Task | undefined> {
  if (!known.fingerprint.equals(fingerprint)) {
    throw new ApiError(
      'idempotency_conflict',
      'This Idempotency-Key was used with a different body. Use a new key for a new request.',
    );
  }
  return known.task_id === null ? undefined : announce(db, known.task_id);
}

// Binding a key holds its advisory lock until the transaction ends. Locks are taken in key order,
// so that transactions with several keys can't deadlock. Rows of bound keys are not locked: a
// transaction that releases such a key may hold the balance's lock.
const given = (lock: string) =>
  `with given as materialized (
     select account_id, surface, key, fingerprint, task_id
     from unnest(:accountIds::text[], :surfaces::text[], :keys::text[], :fingerprints::bytea[],
       :taskIds::text[]) as given (account_id, surface, key, fingerprint, task_id)
     order by account_id, surface, key),
   locked as materialized (
     select account_id, surface, key, fingerprint, task_id,
       ${lock}(hashtextextended(concat_ws(' ', account_id, surface, key), 0)) as lock
     from given)` as const;

const inserted = (condition = '') => `insert into idempotency_keys
       (account_id, surface, key, fingerprint, task_id)
     select account_id, surface, key, fingerprint, task_id from locked ${condition}
     on conflict (account_id, surface, key) do nothing returning task_id`;

const BIND = {
  skip: namedStatement(
    'key_bind_free',
    `${given('pg_try_advisory_xact_lock')} ${inserted('where lock')}`,
  ),
  wait: namedStatement(
    'key_bind',
    `${given('pg_advisory_xact_lock')},
   inserted as (${inserted()}),
   released as (
     update idempotency_keys k set task_id = locked.task_id from locked
     where k.account_id = locked.account_id and k.surface = locked.surface
       and k.key = locked.key and k.task_id is null and k.fingerprint = locked.fingerprint
     returning k.task_id)
   select task_id from inserted union all select task_id from released`,
  ),
};

/**
 * Binds the keys of new tasks. `wait` also binds released keys, and waits while another transaction
 * is binding one of the keys; `skip` leaves such keys unbound.
 * @returns the ids of the tasks whose keys were bound
 */
export async function bindKeys(
  tx: Transaction,
  tasks: NewTask[],
  whenLocked: WhenLocked,
): Promise<Set<string>> {
  const values = BIND[whenLocked].values({
    ...namesOf(tasks),
    fingerprints: tasks.map(({ binding }) => binding.fingerprint),
    taskIds: tasks.map(({ id }) => id),
  });
  const rows = await tx.query<{ task_id: string }>(BIND[whenLocked], values);
  return new Set(rows.map((row) => row.task_id));
}

const UNBIND = statement(
  'key_unbind',
  `delete from idempotency_keys k
   using unnest($1::text[], $2::text[], $3::text[]) as unused (account_id, surface, key)
   where k.account_id = unused.account_id and k.surface = unused.surface and k.key = unused.key`,
);

/** Call it only for keys that this transaction bound. */
export async function unbindKeys(tx: Transaction, tasks: NewTask[]): Promise<void> {
  const { accountIds, surfaces, keys } = namesOf(tasks);
  await tx.query(UNBIND, [accountIds, surfaces, keys]);
}

function namesOf(tasks: NewTask[]) {
  return {
    accountIds: tasks.map(({ binding }) => binding.accountId),
    surfaces: tasks.map(({ binding }) => binding.surface),
    keys: tasks.map(({ binding }) => binding.idempotencyKey),
  };
}

// A key is released only before acceptance, so an accepted task needs no announcement.
const ANNOUNCE = statement(
  'task_announce',
  `update tasks set announced_at = coalesce(announced_at, clock_now())
   where id = $1 and phase in ('reserved', 'ingesting', 'submitting', 'review', 'held')
   returning ${TASK_COLUMNS}`,
);

const READ_BOUND = statement(
  'task_read_bound',
  `select ${TASK_COLUMNS} from tasks
   where id = $1 and exists (select from idempotency_keys k where k.task_id = tasks.id
     and k.account_id = tasks.account_id and k.surface = tasks.surface
     and k.key = tasks.idempotency_key)`,
);

/**
 * Announces a task (C2): records, by compare-and-set, that a client is about to get a response it
 * can rely on. From then on the task's Idempotency-Key is never released.
 * @returns the task; undefined when it has already failed and released its key
 */
export async function announce(db: Queryable, taskId: string): Promise<Task | undefined> {
  const [announced] = await db.query<Task>(ANNOUNCE, [taskId]);
  if (announced) return announced;
  return first<Task>(db, READ_BOUND, [taskId]);
}
