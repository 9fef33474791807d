// The room uploads/: files that clients upload for later creates, and their quota (decisions/0050).
// An upload by presigned link is awaited until a create finds its file in the bucket.

import { firstRefusal, type InputRefusal, refusedInputs } from '../catalog/input-refusal.ts';
import {
  type GenerationRequest,
  inputsOf,
  type RequestedInput,
  uploadIdOf,
} from '../catalog/request.ts';
import {
  command,
  type Database,
  type Queryable,
  query,
  queryColumn,
  statement,
  type Transaction,
  whether,
} from '../database/database.ts';
import { ApiError, invalidRequest } from '../kernel/errors.ts';
import {
  AWAITED_UPLOADS,
  deletingObjectRows,
  extendingUploads,
  longDeletedUploads,
  USABLE_UPLOADS,
} from '../storage/object-sql.ts';
import { markArrived } from '../storage/objects.ts';
import type { Storage } from '../storage/storage.ts';

export interface ArrivalDeps {
  db: Queryable;
  storage: Storage;
}

// Only uploads sent by presigned link have no width: the service measures all others.
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

interface NotArrived {
  reason: 'not_uploaded' | 'size_mismatch';
  message: string;
}

/**
 * Makes the presigned uploads whose files have arrived usable.
 * @returns the uploads that are still awaited
 * @throws ApiError `service_busy` when the storage does not respond
 */
async function acceptArrived(
  { db, storage }: ArrivalDeps,
  { accountId, ids }: { accountId: string; ids: string[] },
): Promise<Map<string, NotArrived>> {
  const problems = new Map<string, NotArrived>();
  if (ids.length === 0) return problems;
  for (const upload of await db.query<Awaited>(AWAITED, [ids, accountId])) {
    const problem = problemOf(upload, await sizeOf(storage, upload.id));
    if (problem) problems.set(upload.id, problem);
    // Another create may have marked the upload at the same time.
    else await markArrived(db, [upload.id], upload.lasts_days);
  }
  return problems;
}

function sizeOf(storage: Storage, id: string): Promise<number | undefined> {
  return storage.sizeOf(id).catch((cause: unknown) => {
    const message = "The uploads can't be read at the moment. Try again in a few seconds.";
    const details = { reason: 'not_taken' }; // nothing is reserved
    throw new ApiError('service_busy', message, { cause, details, retryAfterSeconds: 5 });
  });
}

function problemOf({ size_bytes: wanted }: Awaited, size?: number): NotArrived | undefined {
  if (size === wanted) return undefined;
  if (size === undefined) {
    const message =
      'the file of this upload has not arrived: PUT it to the `upload.url` that its create returned.';
    return { reason: 'not_uploaded', message };
  }
  const message = `the file of this upload has ${size} bytes, and ${wanted} were declared.`;
  return { reason: 'size_mismatch', message };
}

export interface Upload {
  id: string;
  kind: 'image' | 'video';
  media_type: string;
  size_bytes: number;
  /** Null if the file was sent by presigned link: each use measures it. */
  width: number | null;
  height: number | null;
  duration_seconds: number | null;
  expires_at: Date;
  now_seconds: number;
}

/** How long an upload stays usable after its arrival or last use, by where it came in. */
export const UPLOAD_DAYS = { website: 7, api: 1 };

const COLUMNS = `o.id, u.kind, o.media_type, o.size_bytes, u.width, u.height, u.duration_seconds,
     o.delete_after as expires_at, extract(epoch from clock_now())::float8 as now_seconds`;

const READ = statement(
  'upload_read',
  `select ${COLUMNS} from uploads u join ${USABLE_UPLOADS} o on o.id = u.object_id
   where u.object_id = any($1) and u.account_id = $2`,
);

const MAX_LISTED = 100;

/** The account's usable uploads, the newest first, at most 100. */
export const usableUploads = query<[accountId: string], Upload>(
  'upload_list',
  `select ${COLUMNS} from uploads u join ${USABLE_UPLOADS} o on o.id = u.object_id
   where u.account_id = $1 order by u.created_at desc limit ${MAX_LISTED}`,
);

interface Named {
  accountId: string;
  ids: string[];
}

/** Reads an upload of the account; undefined also if it has expired. */
export async function readUpload(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<Upload | undefined> {
  return (await byId(db, READ, { accountId, ids: [id] })).get(id);
}

async function byId(
  db: Queryable,
  read: typeof READ,
  { accountId, ids }: Named,
): Promise<Map<string, Upload>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<Upload>(read, [[...new Set(ids)].sort(), accountId]);
  return new Map(rows.map((upload) => [upload.id, upload]));
}

// Locks the row against the expiry: an upload found here stays.
const USE = statement(
  'upload_use',
  `with o as (${extendingUploads(
    'select object_id from uploads where object_id = any($1) and account_id = $2',
    (id) => `(select lasts_days from uploads where object_id = ${id})`,
  )})
   select ${COLUMNS} from o join uploads u on u.object_id = o.id`,
);

/** Finds the account's usable uploads with these ids, and restarts their lifetime. */
export function useUploads(db: Queryable, named: Named): Promise<Map<string, Upload>> {
  return byId(db, USE, named);
}

/**
 * Checks that the request's uploads belong to the account, and that presigned ones have arrived.
 * @throws ApiError `invalid_request` that names the field; `service_busy` when the storage does not
 *   respond
 */
export async function requireUploads(
  deps: ArrivalDeps,
  accountId: string,
  request: GenerationRequest,
): Promise<void> {
  const named = { accountId, ids: uploadIdsOf(request) };
  const known = await byId(deps.db, READ, named);
  const ids = named.ids.filter((id) => !known.has(id));
  const awaited = await acceptArrived(deps, { accountId, ids });
  // Read again, since some may have become usable.
  const usable = ids.length === 0 ? known : await byId(deps.db, READ, named);
  requireAll(request, usable, awaited);
}

/**
 * Restarts the uploads' lifetime in the transaction that creates the task: a refused create extends
 * nothing, and a committed one's uploads stay.
 * @throws ApiError as {@link requireUploads}, when one has expired meanwhile
 */
export async function renewUploads(
  tx: Transaction,
  accountId: string,
  request: GenerationRequest,
): Promise<void> {
  requireAll(request, await useUploads(tx, { accountId, ids: uploadIdsOf(request) }));
}

export function namesUploads(request: GenerationRequest): boolean {
  return uploadIdsOf(request).length > 0;
}

function uploadIdsOf(request: GenerationRequest): string[] {
  return inputsOf(request).flatMap(({ url }) => uploadIdOf(url) ?? []);
}

function requireAll(
  request: GenerationRequest,
  usable: Map<string, Upload>,
  awaited: Map<string, NotArrived> = new Map(),
): void {
  const refusals = inputsOf(request).flatMap((input) => {
    return uploadRefusal(input, { usable, awaited }) ?? [];
  });
  const [first] = refusals;
  if (first === undefined) return;
  const { message, details } = firstRefusal(first);
  throw invalidRequest(message, { ...details, ...refusedInputs(refusals) });
}

function uploadRefusal(
  input: RequestedInput,
  { usable, awaited }: { usable: Map<string, Upload>; awaited: Map<string, NotArrived> },
): InputRefusal | undefined {
  const id = uploadIdOf(input.url);
  if (id === undefined) return undefined;
  const upload = usable.get(id);
  const unknown = { reason: 'unknown_upload', message: UNKNOWN_UPLOAD };
  if (!upload) return { input, ...(awaited.get(id) ?? unknown) };
  if (upload.kind === input.kind) return undefined;
  const message = 'the upload is a file of another kind.';
  return { input, reason: WRONG_KIND[input.kind], message };
}

export const UNKNOWN_UPLOAD = 'this upload has expired or does not exist: upload the file again.';
const WRONG_KIND = { image: 'not_an_image', video: 'not_a_video' };

/** The uploads of all accounts that share this account's mailbox. */
export const uploadsOfMailbox = queryColumn<[accountId: string], string>(
  'uploads_of_mailbox',
  `select object_id as id from uploads
   where account_id = $1 or mailbox_hash = any(array(
     select mailbox_hash from uploads where account_id = $1))`,
);

export const isUpload = whether<[id: string]>(
  'upload_exists',
  'select from uploads where object_id = $1',
);

/** Whether this is or was an upload of the account. */
export const isOwnUpload = whether<[id: string, accountId: string]>(
  'upload_own',
  'select from uploads where object_id = $1 and account_id = $2',
);

/** Erases an account's upload rows; the storage deletes the files. */
export const eraseOf = command<[accountId: string], Transaction>(
  'erase_upload_facts',
  'delete from uploads where account_id = $1',
);

/** How long a deleted upload's rows are kept: its file may still be written late. */
const FORGET_DAYS = 30;
const BATCH = 1000;

const FORGET = statement(
  'upload_forget',
  `with gone as materialized (${longDeletedUploads(FORGET_DAYS)} limit ${BATCH}
       for update skip locked),
   facts as (delete from uploads where object_id = any(array(select id from gone)))
   ${deletingObjectRows('select id from gone')} returning id`,
);

/** Removes rows of uploads deleted long ago, at most 1000 per call. */
export async function forgetUploads(db: Database): Promise<number> {
  return (await db.query(FORGET)).length;
}
