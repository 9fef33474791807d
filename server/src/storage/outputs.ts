import { type Database, queryFirst, statement } from '../database/database.ts';
import { newId } from '../kernel/ids.ts';
import { type LocalFile, putObject, registerObjects } from './objects.ts';
import type { Storage } from './storage.ts';

/** A local file that becomes the output of a task, or the poster of that output. */
export interface OutputFile extends LocalFile {
  role: 'output' | 'poster';
  mediaType: string;
  sizeBytes: number;
  sha256?: string;
  sourceSha256?: string;
  frameHashes?: string[];
}

// The select sees the rows as before the update, so it returns only those that others had marked.
const WITHDRAW = statement(
  'object_withdraw_outputs',
  `with withdrawn as (
     update stored_objects set state = 'deleting' where id = any($1) and state = 'writing')
   select id from stored_objects where id = any($1) and state in ('deleting', 'deleted')`,
);

/** An output by its id, its task's id or its digest, also after its deletion; a served one first. */
export const findOutput = queryFirst<
  [name: string],
  { task_id: string; object_id: string; state: string; created_at: Date }
>(
  'object_output_find',
  `select owner_id as task_id, id as object_id, state, created_at from stored_objects
   where role = 'output' and state <> 'writing' and (id = $1 or owner_id = $1 or sha256 = $1)
   order by state = 'ready' desc, created_at limit 1`,
);

/**
 * Registers the files of a task's output before their first byte is written, and marks for deletion
 * what an interrupted run left.
 *
 * `work` stores each file by `put`, and makes them `ready` in the transaction that completes the
 * task; `isBlocked`: an operator blocked a file with these bytes. If `work` fails, the objects are
 * marked, and a worker deletes them later. Stored files whose object another worker had already
 * marked are deleted here, since that worker may have deleted before the file was stored.
 */
export async function withOutputs<T>(
  deps: { db: Database; storage: Storage },
  taskId: string,
  files: OutputFile[],
  work: (put: (file: OutputFile) => Promise<string>, isBlocked: boolean) => Promise<T>,
): Promise<T> {
  const { db, storage } = deps;
  const objects = files.map((file) => ({ ...file, ownerId: taskId, id: newId('object') }));
  const isBlocked = await registerObjects(db, { objects, restartedTask: taskId });
  const ids = objects.map(({ id }) => id);
  const stored = new Set<string>();
  const put = async (file: OutputFile) => {
    const id = ids[files.indexOf(file)];
    if (id === undefined) throw new Error('the file was not registered');
    await putObject(deps, id, file);
    stored.add(id);
    return id;
  };
  try {
    return await work(put, isBlocked);
  } catch (error) {
    // If this fails, MARK_EXPIRED marks them after a day.
    const markedByOthers = await db.query<{ id: string }>(WITHDRAW, [ids]).catch(() => []);
    const late = markedByOthers.filter(({ id }) => stored.has(id));
    await Promise.allSettled(late.map(({ id }) => storage.delete(id)));
    throw error;
  }
}
