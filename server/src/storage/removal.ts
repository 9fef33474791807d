import {
  command,
  query,
  queryFirst,
  statement,
  type Transaction,
  whether,
} from '../database/database.ts';
import type { ObjectRole } from './objects.ts';

/** Deletes the rows of the deleted files of these tasks and attempts, except outputs. */
export const forgetObjects = command<[owners: string[]], Transaction>(
  'object_forget',
  `delete from stored_objects where owner_id = any($1) and role <> 'output'`,
);

export interface LockedObject {
  id: string;
  role: ObjectRole;
  owner_id: string;
  taken_down_at: Date | null;
  /** Until when a file that was taken down is kept as evidence; null: it is not kept. */
  evidence_until: Date | null;
}

export const lockObject = queryFirst<[id: string], LockedObject, Transaction>(
  'object_lock',
  `select id, role, owner_id, taken_down_at, evidence_until from stored_objects
   where id = $1 for update`,
);

const TAKEN_DOWN = `taken_down_at = coalesce(taken_down_at, clock_now()),
     state = case state when 'deleted' then 'deleted' else 'deleting' end`;

// The renders of the local provider are its own copies of outputs: their owner is a job.
const renderOf = (jobs: string) => `role = 'render' and owner_id = any(${jobs})`;

const EVIDENCE_UNTIL = `case when id = $1 and state = 'ready'
       then clock_now() + $5 * interval '1 day' end`;

// Evidence is deleted as a file whose deletion is tried again: at its `delete_retry_at`.
const TAKE_DOWN = statement(
  'object_take_down',
  `update stored_objects set ${TAKEN_DOWN}, taken_down_by = $4, evidence_until = ${EVIDENCE_UNTIL},
     delete_retry_at = coalesce(${EVIDENCE_UNTIL}, delete_retry_at)
   where taken_down_at is null
     and (id = $1 or (role = 'poster' and owner_id = $2) or (${renderOf('$3')}))
   returning id, evidence_until`,
);

/** Who takes a file down. */
export type Remover = 'owner' | 'operator';

export interface Removal {
  by: Remover;
  /** How many days the file is kept as evidence; undefined: it is deleted at once. */
  evidenceDays?: number | undefined;
}

/**
 * Takes an object down: from the commit on it is not served, and a worker deletes its file, or
 * keeps it as evidence for some days first.
 * @param output for an output: its task and that task's jobs, whose renders are taken down too
 * @returns until when its file is kept as evidence; null: it is not kept
 */
export async function takeDownObject(
  tx: Transaction,
  id: string,
  { by, evidenceDays }: Removal,
  output?: { taskId: string; jobIds: string[] },
): Promise<Date | null> {
  const values = [id, output?.taskId ?? '', output?.jobIds ?? [], by, evidenceDays ?? null];
  const rows = await tx.query<{ id: string; evidence_until: Date | null }>(TAKE_DOWN, values);
  return rows.find((row) => row.id === id)?.evidence_until ?? null;
}

/** Blocks later outputs with the bytes of this one. @returns whether they were not blocked yet */
export const blockBytes = whether<[objectId: string], Transaction>(
  'object_block_bytes',
  `insert into blocked_digests (sha256)
   select distinct sha256 from (
     select unnest(array[o.sha256, o.source_sha256]) from stored_objects o
     where o.id = $1 and o.role = 'output') as given (sha256)
   where sha256 is not null on conflict do nothing returning sha256`,
);

/** Takes down all objects of tasks, and the renders of their jobs. */
export const takeDownObjectsOf = command<[taskIds: string[], jobIds: string[]], Transaction>(
  'erase_objects',
  `update stored_objects set ${TAKEN_DOWN} where owner_id = any($1) or (${renderOf('$2')})`,
);

/** The longest life of a presigned PUT link, plus the PUT itself. */
const LATE_PUT_MINUTES = 30;

// The file of an awaited upload may still arrive, so it is deleted half an hour later.
const DELETE_AT = `delete_retry_at = case state when 'writing'
       then clock_now() + interval '${LATE_PUT_MINUTES} minutes' end`;

const REMOVE_UPLOADS = statement(
  'object_remove_uploads',
  `with removed as (
     update stored_objects set state = 'deleting', ${DELETE_AT}
     where id = any($1) and role = 'upload' and state in ('writing', 'ready')
     returning size_bytes)
   select count(*)::int as uploads, coalesce(sum(size_bytes), 0)::int8 as bytes from removed`,
);

/** Marks uploads for deletion. @returns how many, and their bytes */
export async function removeStoredUploads(tx: Transaction, ids: string[]) {
  const [row] = await tx.query<{ uploads: number; bytes: number }>(REMOVE_UPLOADS, [ids]);
  return row ?? { uploads: 0, bytes: 0 };
}

/** Takes down the uploads of an account. The other objects are erased with their tasks. */
export const eraseOf = command<[accountId: string], Transaction>(
  'erase_uploads',
  `update stored_objects set ${TAKEN_DOWN}, ${DELETE_AT}
   where owner_id = $1 and role = 'upload' and state in ('writing', 'ready')`,
);

export const deletingObjects = query<[], { role: string; objects: number }>(
  'figures_deleting',
  `select role, count(*)::int as objects from stored_objects
   where state = 'deleting' and coalesce(evidence_until <= clock_now(), true) group by role`,
);
