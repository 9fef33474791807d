import { type Queryable, statement } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { AWAITED_UPLOADS } from '../storage/object-sql.ts';
import { markArrived } from '../storage/objects.ts';
import type { Storage } from '../storage/storage.ts';

export interface ArrivalDeps {
  db: Queryable;
  storage: Storage;
}

// Only those without a width are sent by a link: the service itself stores all others.
const AWAITED = statement(
  'uploads_awaited',
  `select o.id, o.size_bytes, u.lasts_days
   from uploads u join ${AWAITED_UPLOADS} o on o.id = u.object_id
   where u.object_id = any($1) and u.account_id = $2 and u.width is null`,
);

interface Awaited {
  id: string;
  size_bytes: number;
  lasts_days: number;
}

/** Why an upload can't be used yet. */
export interface NotArrived {
  reason: 'not_uploaded' | 'size_mismatch';
  message: string;
}

/**
 * Makes those uploads usable whose files have arrived in the storage by a link.
 * @returns the others that are awaited
 * @throws ApiError `service_busy` when the storage does not respond
 */
export async function acceptArrived(
  { db, storage }: ArrivalDeps,
  { accountId, ids }: { accountId: string; ids: string[] },
): Promise<Map<string, NotArrived>> {
  const problems = new Map<string, NotArrived>();
  if (ids.length === 0) return problems;
  for (const upload of await db.query<Awaited>(AWAITED, [ids, accountId])) {
    const problem = problemOf(upload, await sizeOf(storage, upload.id));
    if (problem) problems.set(upload.id, problem);
    // Another create may have seen it at the same time.
    else await markArrived(db, [upload.id], upload.lasts_days);
  }
  return problems;
}

function sizeOf(storage: Storage, id: string): Promise<number | undefined> {
  return storage.sizeOf(id).catch((cause: unknown) => {
    const message = 'The uploads can not be read at the moment. Try again in a few seconds.';
    const details = { reason: 'not_taken' }; // nothing is reserved
    throw new ApiError('service_busy', message, { cause, details, retryAfterSeconds: 5 });
  });
}

function problemOf({ size_bytes: wanted }: Awaited, size?: number): NotArrived | undefined {
  if (size === wanted) return undefined;
  if (size === undefined) {
    const message = 'the file of this upload has not arrived: send it by the PUT of its response.';
    return { reason: 'not_uploaded', message };
  }
  const message = `the file of this upload has ${size} bytes, and ${wanted} were declared.`;
  return { reason: 'size_mismatch', message };
}
