import { hash } from 'node:crypto';
import { lockOpenAccount } from '../accounts/accounts.ts';
import { type Database, namedStatement, type Queryable, statement } from '../database/database.ts';
import { ApiError, invalidRequest } from '../kernel/errors.ts';
import { hasPaid } from '../ledger/payments.ts';
import type { MediaFacts } from '../media/measure.ts';
import { STORED_UPLOADS } from '../storage/object-sql.ts';
import { registerObject } from '../storage/objects.ts';
import { UPLOAD_DAYS } from './uploads.ts';

const MEGABYTE = 2 ** 20;

/**
 * The quota of a mailbox's uploads. Until the uploading account gets paid credits, the quota is one
 * file of the largest size, since others pay for the disk.
 */
export const QUOTA_BYTES = { unpaid: 100 * MEGABYTE, paid: 1024 * MEGABYTE };

/** The account that uploads, and its mailbox, which may have many accounts. */
export interface Uploader {
  accountId: string;
  mailbox: string;
  lastsDays: number;
}

/** Stored instead of the mailbox, so that an erased account's address can't be read from it. */
function mailboxHash({ mailbox }: Pick<Uploader, 'mailbox'>): Buffer {
  return hash('sha256', mailbox, 'buffer');
}

/** The advisory lock class under which a mailbox's uploads are registered. */
const QUOTA_LOCK = 7_100_070;

// Serializes a mailbox's uploads, so that the sum is exact.
const LOCK_MAILBOX = statement(
  'upload_lock_mailbox',
  `select pg_advisory_xact_lock(${QUOTA_LOCK}, hashtext(encode($1::bytea, 'hex')))`,
);

const STORED = namedStatement(
  'upload_stored',
  `select coalesce(sum(size_bytes), 0)::int8 as bytes from ${STORED_UPLOADS} stored
   where account_id = :accountId
     or id = any(array(select object_id from uploads where mailbox_hash = :mailboxHash))`,
);

/**
 * Checks that a file fits into the mailbox's quota, beside stored uploads and those being written.
 * @throws ApiError `invalid_request` with the reason `quota_exceeded`
 */
export async function requireQuota(
  db: Queryable,
  uploader: Uploader,
  sizeBytes: number,
): Promise<void> {
  const { accountId } = uploader;
  const values = STORED.values({ accountId, mailboxHash: mailboxHash(uploader) });
  const [row] = await db.query<{ bytes: number }>(STORED, values);
  const stored = row?.bytes ?? 0;
  if (stored + sizeBytes <= QUOTA_BYTES.unpaid) return; // either quota allows it
  const kind = (await hasPaid(db, accountId)) ? 'paid' : 'unpaid';
  if (stored + sizeBytes <= QUOTA_BYTES[kind]) return;
  const details = { limit_bytes: QUOTA_BYTES[kind], stored_bytes: stored };
  throw invalidRequest(QUOTA_EXCEEDED[kind], {
    field: 'file',
    reason: 'quota_exceeded',
    ...details,
  });
}

const LASTS =
  `An upload is deleted ${UPLOAD_DAYS.website} days after its last use, and one that was made by ` +
  'the API after one day.';
const QUOTA_EXCEEDED = {
  paid: `No more room: your uploads together may have ${QUOTA_BYTES.paid / MEGABYTE} MB. ${LASTS}`,
  unpaid:
    `No more room: your uploads together may have ${QUOTA_BYTES.unpaid / MEGABYTE} MB until ` +
    `you buy credits, then ${QUOTA_BYTES.paid / MEGABYTE} MB. ${LASTS}`,
};

export interface Registered {
  uploader: Uploader;
  mediaType: string;
  sizeBytes: number;
  kind: 'image' | 'video';
  facts: MediaFacts | null;
}

const INSERT = namedStatement(
  'upload_insert',
  `insert into uploads (object_id, account_id, mailbox_hash, kind, width, height,
     duration_seconds, lasts_days)
   values (:id, :accountId, :mailboxHash, :kind, :width, :height, :durationSeconds, :lastsDays)`,
);

/**
 * Inserts the row before the file is stored; from then on it counts in the quota.
 * @returns the id of the upload
 * @throws ApiError as {@link requireQuota}; `unauthorized`
 */
export function registerUpload(db: Database, file: Registered): Promise<string> {
  const { uploader, mediaType, sizeBytes, kind, facts } = file;
  const { accountId, lastsDays } = uploader;
  return db.transaction(async (tx) => {
    if (!(await lockOpenAccount(tx, accountId)))
      throw new ApiError('unauthorized', 'This account is disabled.');
    await tx.query(LOCK_MAILBOX, [mailboxHash(uploader)]);
    await requireQuota(tx, uploader, sizeBytes);
    const object = { ownerId: accountId, role: 'upload', mediaType, sizeBytes } as const;
    const id = await registerObject(tx, object);
    const owner = { accountId, mailboxHash: mailboxHash(uploader), lastsDays };
    const { width = null, height = null } = facts ?? {};
    const durationSeconds = facts?.kind === 'video' ? facts.durationSeconds : null;
    await tx.query(INSERT, INSERT.values({ id, ...owner, kind, width, height, durationSeconds }));
    return id;
  });
}
