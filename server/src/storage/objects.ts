import { stat } from 'node:fs/promises';
import { type Database, type Queryable, statement } from '../kernel/database.ts';
import { newId } from '../kernel/ids.ts';
import type { Storage } from './storage.ts';

export type ObjectRole = 'input' | 'output' | 'render';

export interface StoredObject {
  id: string;
  state: 'writing' | 'ready' | 'doomed' | 'deleted';
  media_type: string;
  size_bytes: number;
  /** The database's clock at the read, in seconds since 1970. */
  now_seconds: number;
}

const REGISTER = statement(
  'object_register',
  `insert into objects (id, task_id, role, media_type, size_bytes) values ($1, $2, $3, $4, $5)`,
);

/**
 * Stores a local file as a new object of a task. Its row commits before its first byte, so that no
 * file is ever unknown; it stays `writing` until {@link markReady} within the transition that uses it.
 * @returns the object's id
 */
export async function storeFile(
  parts: { db: Database; storage: Storage },
  file: { filePath: string; taskId: string; role: ObjectRole; mediaType: string },
): Promise<string> {
  const id = newId('object');
  const { size } = await stat(file.filePath);
  await parts.db.query(REGISTER, [id, file.taskId, file.role, file.mediaType, size]);
  await parts.storage.put(id, file.filePath);
  return id;
}

const READY = statement(
  'object_ready',
  `update objects set state = 'ready', delete_after = clock_now() + $2 * interval '1 day'
   where id = any($1) and state = 'writing' returning id`,
);

/**
 * Makes stored objects count. Part of the caller's transaction.
 * @param retentionDays after which they are deleted; null to keep them until they are doomed
 * @throws when one of them is not there to be made ready: the transaction must not commit
 */
export async function markReady(
  tx: Queryable,
  ids: string[],
  retentionDays: number | null,
): Promise<void> {
  const rows = await tx.query(READY, [ids, retentionDays]);
  if (rows.length !== ids.length) throw new Error(`not all objects are writing: ${ids.join(', ')}`);
}

const DOOM = statement(
  'object_doom',
  `update objects set state = 'doomed'
   where task_id = $1 and role = any($2) and state in ('writing', 'ready')`,
);

const DOOM_WRITING = statement(
  'object_doom_writing',
  `update objects set state = 'doomed' where task_id = $1 and role = $2 and state = 'writing'`,
);

/** Asks for the deletion of a task's objects of these roles, as part of the caller's transaction. */
export async function doom(tx: Queryable, taskId: string, roles: ObjectRole[]): Promise<void> {
  await tx.query(DOOM, [taskId, roles]);
}

/** Asks for the deletion of what an earlier, interrupted try of a step left half-written. */
export async function doomHalfWritten(db: Queryable, taskId: string, role: ObjectRole) {
  await db.query(DOOM_WRITING, [taskId, role]);
}

const FIND = statement(
  'object_find',
  `select id, state, media_type, size_bytes, extract(epoch from clock_now())::float8 as now_seconds
   from objects where id = $1 and role = $2`,
);

/** The row of an object, deleted ones included; undefined when there never was one. */
export async function findObject(db: Queryable, id: string, role: ObjectRole) {
  const [row] = await db.query<StoredObject>(FIND, [id, role]);
  return row;
}

const EXPIRE = statement(
  'object_expire',
  `update objects set state = 'doomed' where state = 'ready' and delete_after <= clock_now()`,
);

// A writing row this old belongs to no step that still runs: steps are far shorter.
const ABANDON = statement(
  'object_abandon',
  `update objects set state = 'doomed'
   where state = 'writing' and created_at < clock_now() - interval '1 day'`,
);

const DOOMED = statement(
  'object_doomed',
  `select id from objects where state = 'doomed' order by created_at limit 100`,
);

const DELETED = statement(
  'object_deleted',
  `update objects set state = 'deleted', deleted_at = clock_now() where id = $1 and state = 'doomed'`,
);

/**
 * Deletes what is to be deleted: outputs past their retention, objects of ended tasks, leftovers of
 * killed processes. Safe to run in several processes at once.
 * @returns how many objects were deleted
 */
export async function deleteDoomed(parts: { db: Database; storage: Storage }): Promise<number> {
  await parts.db.query(EXPIRE);
  await parts.db.query(ABANDON);
  const rows = await parts.db.query<{ id: string }>(DOOMED);
  for (const { id } of rows) {
    await parts.storage.delete(id);
    await parts.db.query(DELETED, [id]);
  }
  return rows.length;
}
