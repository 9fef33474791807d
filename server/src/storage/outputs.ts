import { type Database, namedStatement, statement } from '../database/database.ts';
import { sharedWork } from '../database/shared-work.ts';
import { newId } from '../kernel/ids.ts';
import { columnsOf, INSERT_OBJECTS, type LocalFile, OBJECT_COLUMNS, putObject } from './objects.ts';
import type { Storage } from './storage.ts';

/** A local file that becomes the output of a task, or the poster of that output. */
export interface OutputFile extends LocalFile {
  role: 'output' | 'poster';
  mediaType: string;
  sizeBytes: number;
}

interface NewOutput extends Omit<OutputFile, keyof LocalFile> {
  id: string;
}

interface OutputsOfTask {
  taskId: string;
  objects: NewOutput[];
}

// What an interrupted run of the step left in state `writing` is marked for deletion. The update
// does not see the rows that the same statement inserts.
const REGISTER = namedStatement(
  'object_register_outputs',
  ['taskIds', ...OBJECT_COLUMNS],
  `with unfinished as (
     update stored_objects set state = 'deleting'
     where owner_id = any(:taskIds) and role in ('output', 'poster') and state = 'writing')
   ${INSERT_OBJECTS}`,
);

const register = sharedWork<OutputsOfTask, string[]>({
  keyOf: ({ taskId }) => taskId,
  async work(db, tasks) {
    const rows = tasks.flatMap(({ taskId, objects }) =>
      objects.map((object) => ({ ...object, ownerId: taskId })),
    );
    const taskIds = tasks.map(({ taskId }) => taskId);
    const values = REGISTER.values({ taskIds, ...columnsOf(rows) });
    await db.query(REGISTER, values);
    return tasks.map(({ objects }) => objects.map(({ id }) => id));
  },
});

// Reads the rows as they were before the update: those that someone else has marked.
const WITHDRAW = statement(
  'object_withdraw_outputs',
  `with withdrawn as (
     update stored_objects set state = 'deleting' where id = any($1) and state = 'writing')
   select id from stored_objects where id = any($1) and state in ('deleting', 'deleted')`,
);

/**
 * Registers the files of a task's output before their first byte is written, and marks for deletion
 * what an interrupted run left. The work stores them by `put` and makes them `ready` in the
 * transition that completes the task. If it fails, they are deleted, even if another worker has
 * marked them: that deletion may have come before the file did.
 */
export async function withOutputs<T>(
  deps: { db: Database; storage: Storage },
  taskId: string,
  files: OutputFile[],
  work: (put: (file: OutputFile) => Promise<string>) => Promise<T>,
): Promise<T> {
  const { db, storage } = deps;
  const objects = files.map((file) => ({ ...file, id: newId('object') }));
  const ids = await register(db, { taskId, objects });
  const stored = new Set<string>();
  const put = async (file: OutputFile) => {
    const id = ids[files.indexOf(file)];
    if (id === undefined) throw new Error('the file was not registered');
    await putObject(deps, id, file);
    stored.add(id);
    return id;
  };
  try {
    return await work(put);
  } catch (error) {
    // If this fails, MARK_EXPIRED marks them after a day.
    const marked = await db.query<{ id: string }>(WITHDRAW, [ids]).catch(() => []);
    const files = marked.filter(({ id }) => stored.has(id));
    await Promise.allSettled(files.map(({ id }) => storage.delete(id)));
    throw error;
  }
}
