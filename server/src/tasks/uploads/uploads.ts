import { firstRefusal, type InputRefusal, refusedInputs } from '../../catalog/input-refusal.ts';
import {
  type GenerationRequest,
  inputsOf,
  type RequestedInput,
  uploadIdOf,
} from '../../catalog/request.ts';
import {
  namedStatement,
  type Queryable,
  statement,
  type Transaction,
} from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import type { MediaFacts } from '../../media/measure.ts';
import { extendingUploads, USABLE_UPLOADS } from '../../storage/object-sql.ts';

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

const READ = statement(
  'upload_read',
  `select ${COLUMNS} from uploads u join ${USABLE_UPLOADS} o on o.id = u.object_id
   where u.object_id = any($1) and u.account_id = $2`,
);

/** Some uploads of an account. */
interface Named {
  accountId: string;
  ids: string[];
}

/** An upload of the account; undefined if there is none, or it has expired. */
export async function readUpload(
  db: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<Upload | undefined> {
  return (await byId(db, READ, { accountId, ids: [id] })).get(id);
}

async function byId(
  db: Queryable,
  query: typeof READ,
  { accountId, ids }: Named,
): Promise<Map<string, Upload>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<Upload>(query, [[...new Set(ids)].sort(), accountId]);
  return new Map(rows.map((upload) => [upload.id, upload]));
}

// The row's lock orders it with the expiry: an upload that is found here lasts.
const USE = statement(
  'upload_use',
  `with o as (${extendingUploads(
    'select object_id from uploads where object_id = any($1) and account_id = $2',
    UPLOAD_DAYS,
  )})
   select ${COLUMNS} from o join uploads u on u.object_id = o.id`,
);

/** The uploads of the account with these ids that can be used. Each lasts for 7 days from now. */
export function useUploads(db: Queryable, named: Named): Promise<Map<string, Upload>> {
  return byId(db, USE, named);
}

/**
 * Checks that the uploads which a request names are the account's.
 * @throws ApiError `invalid_request` that names the field
 */
export async function requireUploads(
  db: Queryable,
  accountId: string,
  request: GenerationRequest,
): Promise<void> {
  requireAll(request, await byId(db, READ, { accountId, ids: uploadIdsOf(request) }));
}

/**
 * Extends the lives of the uploads that a request names, in the transaction that creates its task:
 * a create that is refused extends none, and the uploads of one that commits last.
 * @throws ApiError as {@link requireUploads}, when one has expired meanwhile
 */
export async function renewUploads(
  tx: Transaction,
  accountId: string,
  request: GenerationRequest,
): Promise<void> {
  requireAll(request, await useUploads(tx, { accountId, ids: uploadIdsOf(request) }));
}

function uploadIdsOf(request: GenerationRequest): string[] {
  return inputsOf(request).flatMap(({ url }) => uploadIdOf(url) ?? []);
}

function requireAll(request: GenerationRequest, uploads: Map<string, Upload>): void {
  const refusals = inputsOf(request).flatMap((input) => uploadRefusal(input, uploads) ?? []);
  const [first] = refusals;
  if (first === undefined) return;
  const { message, details } = firstRefusal(first);
  throw new ApiError('invalid_request', message, {
    details: { ...details, ...refusedInputs(refusals) },
  });
}

function uploadRefusal(
  input: RequestedInput,
  uploads: Map<string, Upload>,
): InputRefusal | undefined {
  const id = uploadIdOf(input.url);
  if (id === undefined) return undefined;
  const upload = uploads.get(id);
  if (!upload) return { input, reason: 'unknown_upload', message: UNKNOWN_UPLOAD };
  if (upload.kind === input.kind) return undefined;
  const message = 'the upload is a file of another kind.';
  return { input, reason: WRONG_KIND[input.kind], message };
}

export const UNKNOWN_UPLOAD = 'this upload has expired or does not exist: upload the file again.';
const WRONG_KIND = { image: 'not_an_image', video: 'not_a_video' };

const INSERT = namedStatement(
  'upload_insert',
  ['id', 'accountId', 'mailboxHash', 'kind', 'width', 'height', 'durationSeconds'],
  `insert into uploads
     (object_id, account_id, mailbox_hash, kind, width, height, duration_seconds)
   values (:id, :accountId, :mailboxHash, :kind, :width, :height, :durationSeconds)`,
);

/** Records what was measured, in the transaction that registers the object. */
export async function insertUpload(
  tx: Queryable,
  upload: { id: string; accountId: string; mailboxHash: Buffer; facts: MediaFacts },
): Promise<void> {
  const { facts, ...owned } = upload;
  const { kind, width, height } = facts;
  const durationSeconds = facts.kind === 'video' ? facts.durationSeconds : null;
  await tx.query(INSERT, INSERT.values({ ...owned, kind, width, height, durationSeconds }));
}

const OF_MAILBOX = statement(
  'uploads_of_mailbox',
  `select object_id as id from uploads
   where account_id = $1 or mailbox_hash = any(array(
     select mailbox_hash from uploads where account_id = $1 and mailbox_hash is not null))`,
);

/** The uploads of an account, and of all accounts with the same mailbox. */
export async function uploadsOfMailbox(db: Queryable, accountId: string): Promise<string[]> {
  const rows = await db.query<{ id: string }>(OF_MAILBOX, [accountId]);
  return rows.map(({ id }) => id);
}

const IS_UPLOAD = statement('upload_exists', 'select from uploads where object_id = $1');

export async function isUpload(db: Queryable, id: string): Promise<boolean> {
  return (await db.query(IS_UPLOAD, [id])).length > 0;
}
