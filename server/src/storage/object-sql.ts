/** SQL about objects, for statements of other rooms that know their ids. */

/** A select of the output with this id, even of a deleted one. */
export function outputFile(id: string): string {
  return `select id, role, state, media_type, size_bytes, delete_after, taken_down_at, taken_down_by
     from stored_objects where id = ${id}`;
}

const readyFile = (role: 'output' | 'poster') => (task: string) =>
  `select id, size_bytes from stored_objects
     where owner_id = ${task} and role = '${role}' and state = 'ready'`;

/** The stored poster of a task: a select of `id` and `size_bytes`. */
export const posterOf = readyFile('poster');

/** The stored video of a task: a select of the same columns. */
export const videoOf = readyFile('output');

/** A JSON array of the objects of a task, the oldest first. */
export function objectsOfTask(task: string): string {
  return `(select coalesce(jsonb_agg(to_jsonb(o) - 'owner_id' order by o.created_at), '[]')
     from stored_objects o where o.owner_id = ${task})`;
}

export function taskOfObject(id: string): string {
  return `(select owner_id from stored_objects where id = ${id})`;
}

/** A condition: a file of one of these tasks and attempts (an array) is not deleted yet. */
export function hasFiles(owners: string): string {
  return `exists (select from stored_objects o
     where o.owner_id = any(${owners}) and o.state <> 'deleted')`;
}

/** A condition: the retention of the object is over, or it was taken down. */
export function isPastRetention(id: string): string {
  return `exists (select from stored_objects o where o.id = ${id}
     and (o.taken_down_at is not null or o.delete_after <= clock_now()))`;
}

/** The uploads whose files are stored, or are being stored. Their account is in `account_id`. */
export const STORED_UPLOADS = `(select id, owner_id as account_id, state, media_type, size_bytes,
       delete_after
     from stored_objects where role = 'upload' and state in ('writing', 'ready'))`;

const IS_USABLE = `role = 'upload' and state = 'ready' and delete_after > clock_now()`;

export const USABLE_UPLOADS = `(select id, media_type, size_bytes, delete_after
     from stored_objects where ${IS_USABLE})`;

/** The uploads not yet known to have arrived in the storage. */
export const AWAITED_UPLOADS = `(select id, size_bytes
     from stored_objects where role = 'upload' and state = 'writing')`;

/**
 * SQL that extends usable uploads to some days from now, and returns the columns of {@link
 * USABLE_UPLOADS}.
 * @param ids a select of their ids
 * @param daysOf SQL: for how many days the upload with this id is kept
 */
export function extendingUploads(ids: string, daysOf: (id: string) => string): string {
  const days = `${daysOf('stored_objects.id')} * interval '1 day'`;
  return `update stored_objects set delete_after = clock_now() + ${days}
     where id = any(array(${ids})) and ${IS_USABLE}
     returning id, media_type, size_bytes, delete_after`;
}

/** A select of the ids of uploads deleted more than this many days ago, oldest first. */
export function longDeletedUploads(days: number): string {
  return `select id from stored_objects
     where role = 'upload' and state = 'deleted'
       and deleted_at < (select clock_now()) - interval '${days} days'
     order by deleted_at`;
}

/** SQL that deletes the rows of objects, by a select of their ids. */
export function deletingObjectRows(ids: string): string {
  return `delete from stored_objects where id = any(array(${ids}))`;
}
