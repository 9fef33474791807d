// The room storage/: files and their rows. A row is `writing` before the first byte, `ready` once a
// transaction uses the file, `deleting` until a worker has removed it, then `deleted`. So no file
// is without a row.

import { stat } from 'node:fs/promises';
import {
  type Database,
  namedStatement,
  type Queryable,
  queryFirst,
  statement,
  type Transaction,
} from '../database/database.ts';
import { sharedWork } from '../database/shared-work.ts';
import { newId } from '../kernel/ids.ts';
import { hashValues, INSERT_HASHES } from './fingerprints.ts';
import type { Storage } from './storage.ts';

/**
 * `render`: of the local provider, kept for a day so that it can be archived. `poster`: of an
 * output.
 */
export type ObjectRole = (typeof OBJECT_ROLES)[number];

export const OBJECT_ROLES = ['input', 'output', 'render', 'poster', 'upload', 'export'] as const;

export interface StoredObject {
  id: string;
  role: ObjectRole;
  state: 'writing' | 'ready' | 'deleting' | 'deleted';
  media_type: string;
  size_bytes: number;
  /** The database's clock at the read, in seconds since 1970. */
  now_seconds: number;
}

interface NewObject {
  id: string;
  /** A task; of an upload or export the account, of a render the attempt. */
  ownerId: string;
  role: ObjectRole;
  mediaType: string;
  sizeBytes: number;
  /** Of an output, in hex. */
  sha256?: string;
  /** Of the bytes that became this output, as the provider sent them. */
  sourceSha256?: string;
  /** Perceptual hashes of frames of an output, in hex. */
  frameHashes?: string[];
}

interface Registration {
  objects: NewObject[];
  /** The task whose outputs and posters, left `writing` by an interrupted run, are deleted. */
  restartedTask?: string;
}

// The update does not see the rows that the same statement inserts.
const REGISTER = namedStatement(
  'object_register',
  `with unfinished as (
     update stored_objects set state = 'deleting'
     where owner_id = any(:restarted) and role in ('output', 'poster') and state = 'writing'),
   hashed as (${INSERT_HASHES})
   insert into stored_objects (id, owner_id, role, media_type, size_bytes, sha256, source_sha256)
   select id, owner_id, role, media_type, size_bytes, sha256, source_sha256
   from unnest(:ids::text[], :ownerIds::text[], :roles::text[], :mediaTypes::text[],
     :sizes::bigint[], :digests::text[], :sourceDigests::text[])
     as given (id, owner_id, role, media_type, size_bytes, sha256, source_sha256)
   returning id, exists (select from blocked_digests b
     where b.sha256 in (stored_objects.sha256, stored_objects.source_sha256)) as is_blocked`,
);

function insertObjects(db: Queryable, objects: NewObject[], restarted: string[] = []) {
  const values = {
    restarted,
    ids: objects.map(({ id }) => id),
    ownerIds: objects.map(({ ownerId }) => ownerId),
    roles: objects.map(({ role }) => role),
    mediaTypes: objects.map(({ mediaType }) => mediaType),
    sizes: objects.map(({ sizeBytes }) => sizeBytes),
    digests: objects.map(({ sha256 }) => sha256),
    sourceDigests: objects.map(({ sourceSha256 }) => sourceSha256),
    ...hashValues(objects),
  };
  return db.query<{ id: string; is_blocked: boolean }>(REGISTER, REGISTER.values(values));
}

/**
 * Inserts objects in state `writing`; concurrent calls share a statement.
 * @returns whether an operator has blocked the bytes of one of them
 */
export const registerObjects = sharedWork<Registration, boolean>({
  keyOf: ({ objects, restartedTask }) => restartedTask ?? objects[0]?.id ?? '',
  async work(db, given) {
    const restarted = given.flatMap(({ restartedTask }) => restartedTask ?? []);
    const objects = given.flatMap((item) => item.objects);
    const rows = await insertObjects(db, objects, restarted);
    const blocked = new Set(rows.filter((row) => row.is_blocked).map(({ id }) => id));
    return given.map((item) => item.objects.some(({ id }) => blocked.has(id)));
  },
});

const STILL_WRITING = statement(
  'object_still_writing',
  `select id from stored_objects where id = any($1) and state = 'writing'`,
);

const isStillWriting = sharedWork<string, boolean>({
  keyOf: (id) => id,
  async work(db, ids) {
    const rows = await db.query<{ id: string }>(STILL_WRITING, [ids]);
    const writing = new Set(rows.map(({ id }) => id));
    return ids.map((id) => writing.has(id));
  },
});

/**
 * Stores a local file as a new object of a task. The row commits before the first byte is written,
 * so that no file is without a row, and stays `writing` until {@link markReady}.
 * @returns its id
 * @throws when it can't be stored, or was marked for deletion because another worker leased the
 *   task
 */
export async function storeFile(
  deps: { db: Database; storage: Storage },
  file: { filePath: string; ownerId: string; role: ObjectRole; mediaType: string },
): Promise<string> {
  const id = newId('object');
  const { filePath, ownerId, role, mediaType } = file;
  const { size: sizeBytes } = await stat(filePath);
  await registerObjects(deps.db, { objects: [{ id, ownerId, role, mediaType, sizeBytes }] });
  await withdrawOnFailure(deps.db, [id], () => putRegistered(deps, id, filePath));
  return id;
}

/** Registers an object in the caller's transaction, for {@link putRegistered}. @returns its id */
export async function registerObject(
  tx: Queryable,
  object: Omit<NewObject, 'id'>,
): Promise<string> {
  const id = newId('object');
  await insertObjects(tx, [{ ...object, id }]);
  return id;
}

/** A store may finish a write after its caller has given up, but not this much later. */
const LATE_PUT_MINUTES = 30;

// Also for a `deleting` or `deleted` object: it may have been deleted before its file arrived.
const PUT_FAILED = statement(
  'object_put_failed',
  `update stored_objects set state = 'deleting',
     delete_retry_at = clock_now() + interval '${LATE_PUT_MINUTES} minutes'
   where id = $1 and state <> 'ready'`,
);

export interface LocalFile {
  filePath: string;
  isPrepared?: boolean;
}

/**
 * Stores the file of a registered object. If that fails, the object is deleted half an hour later:
 * a store that did not respond may still write the file.
 */
export async function putObject(
  deps: { db: Database; storage: Storage },
  id: string,
  { filePath, isPrepared = false }: LocalFile,
): Promise<void> {
  try {
    await deps.storage.put(id, filePath, { isPrepared });
  } catch (error) {
    // If this fails too, MARK_EXPIRED marks it after a day.
    await deps.db.query(PUT_FAILED, [id]).catch(() => {});
    throw error;
  }
}

/**
 * Calls {@link putObject}.
 * @throws if the object was marked for deletion; then its file is deleted
 */
export async function putRegistered(
  deps: { db: Database; storage: Storage },
  id: string,
  filePath: string,
): Promise<void> {
  await putObject(deps, id, { filePath });
  if (!(await isStillWriting(deps.db, id))) {
    // deleteMarked may have run before `put` ended, so the file is deleted here too.
    await deps.storage.delete(id);
    throw new Error(`${id} was marked for deletion while it was written`);
  }
}

const READY = statement(
  'object_ready',
  `update stored_objects set state = 'ready', delete_after = clock_now() + $2 * interval '1 day'
   where id = any($1) and state = 'writing' returning id`,
);

/**
 * Makes stored objects `ready`.
 * @param retentionDays days until they are deleted; null: until they are marked for deletion
 * @throws when one of them is not `writing`; the transaction must not commit then
 */
export async function markReady(
  tx: Queryable,
  ids: string[],
  retentionDays: number | null,
): Promise<void> {
  if ((await markArrived(tx, ids, retentionDays)) !== ids.length)
    throw new Error(`not all objects are in state writing: ${ids.join(', ')}`);
}

/** {@link markReady}, but skips objects that are not `writing`. @returns how many became `ready` */
export async function markArrived(
  db: Queryable,
  ids: string[],
  retentionDays: number | null,
): Promise<number> {
  return (await db.query(READY, [ids, retentionDays])).length;
}

const WITHDRAW = statement(
  'object_withdraw',
  `update stored_objects set state = 'deleting' where id = any($1) and state = 'writing'`,
);

/**
 * Makes the objects `ready` in the transaction of `work`, which uses them. If it does not commit,
 * they will never be used and are marked for deletion.
 */
export async function markReadyWith<T>(
  db: Database,
  objects: { ids: string[]; retentionDays: number | null },
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return withdrawOnFailure(db, objects.ids, () =>
    db.transaction(async (tx) => {
      // The work locks the task. All code locks a task before its objects, so nothing deadlocks.
      const result = await work(tx);
      await markReady(tx, objects.ids, objects.retentionDays);
      return result;
    }),
  );
}

/** Marks objects for deletion at once when the work that makes them `ready` fails. */
export async function withdrawOnFailure<T>(
  db: Database,
  ids: string[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // If this fails too, MARK_EXPIRED marks them after a day.
    await db.query(WITHDRAW, [ids]).catch(() => {});
    throw error;
  }
}

const MARK = statement(
  'object_mark',
  `update stored_objects set state = 'deleting'
   where owner_id = any($1) and role = any($2) and state in ('writing', 'ready')`,
);

/** Marks the tasks' objects of these roles for deletion, within the caller's transaction. */
export async function markForDeletion(
  tx: Queryable,
  ownerIds: string[],
  roles: ObjectRole[],
): Promise<void> {
  if (ownerIds.length > 0) await tx.query(MARK, [ownerIds, roles]);
}

const MARK_UNFINISHED = statement(
  'object_mark_unfinished',
  `update stored_objects o set state = 'deleting'
   from unnest($1::text[], $2::text[]) as given (owner_id, role)
   where o.owner_id = any($1) and o.owner_id = given.owner_id and o.role = given.role
     and o.state = 'writing'`,
);

/**
 * Marks for deletion what an interrupted run of a step left `writing`. For outputs and posters,
 * `withOutputs` does it.
 */
export const markUnfinished = sharedWork<{ ownerId: string; role: 'input' | 'render' }, void>({
  keyOf: ({ ownerId }) => ownerId,
  async work(db, marked) {
    const columns = [marked.map(({ ownerId }) => ownerId), marked.map(({ role }) => role)];
    await db.query(MARK_UNFINISHED, columns);
    return marked.map(() => undefined);
  },
});

/** The row of an object, even of a deleted one; undefined when there is no such row. */
export const readObject = queryFirst<[id: string, roles: ObjectRole[]], StoredObject>(
  'object_read',
  `select id, role, state, media_type, size_bytes,
     extract(epoch from clock_now())::float8 as now_seconds
   from stored_objects where id = $1 and role = any($2)`,
);

const BATCH = 100;

// A row that is `writing` for a day belongs to no running step: steps are far shorter.
// `(select clock_now())`: see NOW in tasks/lease.ts.
const MARK_EXPIRED = statement(
  'object_mark_expired',
  `with expired as materialized (
     select id from stored_objects where state = 'ready' and delete_after <= (select clock_now())
     order by delete_after limit ${BATCH} for update skip locked),
   abandoned as materialized (
     select id from stored_objects
     where state = 'writing' and created_at < (select clock_now()) - interval '1 day'
     order by created_at limit ${BATCH} for update skip locked)
   update stored_objects set state = 'deleting'
   where id = any(array(select id from expired union all select id from abandoned))
   returning id`,
);

/**
 * Marks for deletion `ready` objects past their `delete_after`, and objects that a killed process
 * left `writing`. Several processes may call it at once.
 * @returns how many: at most 100 of each kind
 */
export async function markExpired(db: Database): Promise<number> {
  return (await db.query(MARK_EXPIRED)).length;
}

/**
 * A deletion that failed, or that a killed process began, is retried after this time, a few per
 * turn.
 */
const DELETE_RETRY_MINUTES = 5;

const TAKE_MARKED = statement(
  'object_take_marked',
  `with marked as materialized (
     select id from stored_objects where state = 'deleting' and delete_retry_at is null
     limit ${BATCH} for update skip locked),
   again as materialized (
     select id from stored_objects
     where state = 'deleting' and delete_retry_at <= (select clock_now())
     order by delete_retry_at limit ${BATCH / 10} for update skip locked)
   update stored_objects
   set delete_retry_at = clock_now() + interval '${DELETE_RETRY_MINUTES} minutes'
   where id = any(array(select id from marked union all select id from again)) returning id`,
);

const DELETED = statement(
  'object_deleted',
  `update stored_objects set state = 'deleted', deleted_at = clock_now()
   where id = $1 and state = 'deleting'`,
);

/**
 * Deletes the files of marked objects. Several processes may call it at once. @returns how many it
 * took
 * @throws the first failure, after all others were tried; it is tried again after five minutes
 */
export async function deleteMarked(deps: { db: Database; storage: Storage }): Promise<number> {
  const rows = await deps.db.query<{ id: string }>(TAKE_MARKED);
  await tryEach(rows, 1, ({ id }) => deleteObject(deps, id));
  return rows.length;
}

async function deleteObject(deps: { db: Database; storage: Storage }, id: string): Promise<void> {
  await deps.storage.delete(id);
  await deps.db.query(DELETED, [id]);
}

/** How many objects one page of {@link forEachObject} has. */
export const PAGE = 200;
const AT_ONCE = 8;

/**
 * Works through the rows that a statement gives in pages, by their ids, eight at a time.
 * @returns how many there were
 * @throws the first failure, after the rest of its page
 */
export async function forEachObject<Row extends { id: string }>(
  db: Database,
  page: ReturnType<typeof statement>,
  work: (row: Row) => Promise<void>,
): Promise<number> {
  let count = 0;
  for (let after = ''; ; ) {
    const rows = await db.query<Row>(page, [after]);
    await tryEach(rows, AT_ONCE, work);
    count += rows.length;
    if (rows.length < PAGE) return count;
    after = rows.at(-1)?.id ?? after;
  }
}

/** Works on each row, `atOnce` at a time. @throws the first failure, after all others were tried */
async function tryEach<Row>(
  rows: Row[],
  atOnce: number,
  work: (row: Row) => Promise<void>,
): Promise<void> {
  const queue = rows.values();
  const failures: unknown[] = [];
  const worker = async () => {
    for (const row of queue) await work(row).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (failures.length > 0) throw failures[0];
}
