import { type Database, statement } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';
import { report } from '../telemetry/reports.ts';
import { forEachObject, PAGE } from './objects.ts';
import { ObjectMissing, type Storage } from './storage.ts';

const SHOULD_EXIST = statement(
  'object_should_exist',
  `select role, owner_id as task from stored_objects where id = $1 and state = 'ready'
     and coalesce(delete_after > clock_now(), true)`,
);

/**
 * Reports a file missing from the storage, by the log and a metric, if its row says that it should
 * be there. @returns whether it should
 */
export async function reportIfVanished(
  { db, log }: { db: Database; log: Log },
  objectId: string,
): Promise<boolean> {
  const [object] = await db.query<{ role: string; task: string }>(SHOULD_EXIST, [objectId]);
  if (!object) return false;
  log.error({ object: objectId, ...object }, 'a file has vanished from the storage');
  report('vanished', { role: object.role });
  return true;
}

/** @throws ObjectMissing when the storage does not have the object */
export async function requireStored(storage: Storage, objectId: string): Promise<void> {
  if ((await storage.sizeOf(objectId)) === undefined) throw new ObjectMissing(objectId);
}

interface ReadyObject {
  id: string;
  role: string;
  task: string;
  size_bytes: number;
}

const READY_PAGE = statement(
  'audit_storage_page',
  `select id, role, owner_id as task, size_bytes::float8 as size_bytes from stored_objects
   where id > $1 and state = 'ready' order by id limit ${PAGE}`,
);

/**
 * Checks that the storage has each `ready` object at its full size. `add` gets what is wrong.
 * @returns how many objects there are
 * @throws the storage's error, when it does not respond
 */
export async function auditStorage(
  { db, storage }: { db: Database; storage: Storage },
  add: (problem: string) => void,
): Promise<number> {
  return forEachObject<ReadyObject>(db, READY_PAGE, async (row) => {
    const problem = await problemOf({ db, storage }, row);
    if (problem !== undefined) add(problem);
  });
}

async function problemOf(
  { db, storage }: { db: Database; storage: Storage },
  { id, role, task, size_bytes: wanted }: ReadyObject,
): Promise<string | undefined> {
  const size = await storage.sizeOf(id);
  if (size === wanted) return undefined;
  const [object] = await db.query(SHOULD_EXIST, [id]);
  if (!object) return undefined; // deleted meanwhile, or soon
  const found = size === undefined ? 'is not in the storage' : `has ${size} bytes in the storage`;
  return `${id}: ${role} of ${task}, ready with ${wanted} bytes, ${found}`;
}
