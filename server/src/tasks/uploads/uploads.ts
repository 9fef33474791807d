import {
  type GenerationRequest,
  inputName,
  inputsOf,
  type RequestedInput,
  uploadIdOf,
} from '../../catalog/request.ts';
import {
  type Database,
  namedStatement,
  type Queryable,
  statement,
} from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { MediaFacts } from '../../media/measure.ts';

/** An upload that can be used. */
export interface Upload {
  id: string;
  kind: 'image' | 'video';
  media_type: string;
  size_bytes: number;
  width: number;
  height: number;
  /** Of a video, not rounded. */
  duration_seconds: number | null;
  expires_at: Date;
  /** The database's clock at the read, in seconds since 1970. */
  now_seconds: number;
}

/** How long an upload can be used, from its end or from its last use. */
export const UPLOAD_DAYS = 7;

const COLUMNS = `o.id, u.kind, o.media_type, o.size_bytes, u.width, u.height, u.duration_seconds,
     o.delete_after as expires_at, extract(epoch from clock_now())::float8 as now_seconds`;
const USABLE = `o.role = 'upload' and o.state = 'ready' and o.delete_after > clock_now()`;

const READ = statement(
  'upload_read',
  `select ${COLUMNS} from uploads u join objects o on o.id = u.object_id
   where u.object_id = $1 and u.account_id = $2 and ${USABLE}`,
);

/** An upload of the account; undefined if there is none, or it has expired. */
export async function readUpload(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<Upload | undefined> {
  const [upload] = await db.query<Upload>(READ, [id, accountId]);
  return upload;
}

// The row's lock orders it with the expiry: an upload that is found here lasts.
const USE = statement(
  'upload_use',
  `update objects o set delete_after = clock_now() + interval '${UPLOAD_DAYS} days'
   from uploads u
   where o.id = any($1) and u.object_id = o.id and u.account_id = $2 and ${USABLE}
   returning ${COLUMNS}`,
);

/** The uploads of the account with these ids that can be used. Each lasts for 7 days from now. */
export async function useUploads(
  db: Queryable,
  { accountId, ids }: { accountId: string; ids: string[] },
): Promise<Map<string, Upload>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<Upload>(USE, [[...new Set(ids)].sort(), accountId]);
  return new Map(rows.map((upload) => [upload.id, upload]));
}

/**
 * Checks that the uploads which a request names are the account's, and extends their lives.
 * @throws ApiError `invalid_request` that names the field
 */
export async function requireUploads(
  db: Queryable,
  accountId: string,
  request: GenerationRequest,
): Promise<void> {
  const named = inputsOf(request).flatMap((input) => {
    const id = uploadIdOf(input.url);
    return id === undefined ? [] : [{ input, id }];
  });
  const uploads = await useUploads(db, { accountId, ids: named.map(({ id }) => id) });
  for (const { input, id } of named) {
    const upload = uploads.get(id);
    if (!upload) throw refusal(input, 'unknown_upload', UNKNOWN_UPLOAD);
    if (upload.kind === input.kind) continue;
    throw refusal(input, WRONG_KIND[input.kind], 'the upload is a file of another kind.');
  }
}

export const UNKNOWN_UPLOAD = 'this upload has expired or does not exist: upload the file again.';
const WRONG_KIND = { image: 'not_an_image', video: 'not_a_video' };

function refusal(input: RequestedInput, reason: string, message: string): ApiError {
  const entry = input.entry === null ? {} : { entry: input.entry };
  const details = { field: input.field, ...entry, reason };
  return new ApiError('invalid_request', `${inputName(input)}: ${message}`, { details });
}

// Uploads of an account come one after the other through here, so the sum is exact. The account's
// key is not locked: its tasks can be created meanwhile.
const LOCK = statement(
  'upload_lock_account',
  `select disabled_at is null and erased_at is null as is_open from accounts
   where id = $1 for no key update`,
);

const STORED = statement(
  'upload_stored',
  `select coalesce(sum(size_bytes), 0)::int8 as bytes from objects
   where task_id = $1 and role = 'upload' and state in ('writing', 'ready')`,
);

/** The bytes of all uploads of an account, also of those that are being written. */
export async function storedBytes(db: Queryable, accountId: string): Promise<number> {
  const [row] = await db.query<{ bytes: number }>(STORED, [accountId]);
  return row?.bytes ?? 0;
}

/**
 * Runs `register` if the account is open and has room for the file, within one transaction.
 * @throws ApiError `invalid_request` with the reason `quota_exceeded`; `unauthorized`
 */
export function withinQuota<T>(
  db: Database,
  file: { accountId: string; sizeBytes: number; quotaBytes: number },
  register: (tx: Queryable) => Promise<T>,
): Promise<T> {
  const { accountId, sizeBytes, quotaBytes } = file;
  return db.transaction(async (tx) => {
    const [account] = await tx.query<{ is_open: boolean }>(LOCK, [accountId]);
    if (!account?.is_open) throw new ApiError('unauthorized', 'This account is disabled.');
    requireRoom(await storedBytes(tx, accountId), { sizeBytes, quotaBytes });
    return register(tx);
  });
}

/** @throws ApiError `invalid_request` with the reason `quota_exceeded` */
export function requireRoom(
  stored: number,
  { sizeBytes, quotaBytes }: { sizeBytes: number; quotaBytes: number },
): void {
  if (stored + sizeBytes <= quotaBytes) return;
  const message = `No more room: uploads are deleted ${UPLOAD_DAYS} days after their last use.`;
  throw new ApiError('invalid_request', message, {
    details: { reason: 'quota_exceeded', limit_bytes: quotaBytes, stored_bytes: stored },
  });
}

const INSERT = namedStatement(
  'upload_insert',
  ['id', 'accountId', 'kind', 'width', 'height', 'durationSeconds'],
  `insert into uploads (object_id, account_id, kind, width, height, duration_seconds)
   values (:id, :accountId, :kind, :width, :height, :durationSeconds)`,
);

/** Records what was measured. The object becomes `ready` in the same transaction. */
export async function insertUpload(
  tx: Queryable,
  { id, accountId, facts }: { id: string; accountId: string; facts: MediaFacts },
): Promise<void> {
  const { kind, width, height } = facts;
  const durationSeconds = facts.kind === 'video' ? facts.durationSeconds : null;
  const values = INSERT.values({ id, accountId, kind, width, height, durationSeconds });
  await tx.query(INSERT, values);
}
