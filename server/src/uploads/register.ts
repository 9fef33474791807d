import { type Database, namedStatement, type Queryable } from '../database/database.ts';
import type { MediaFacts } from '../media/measure.ts';
import { registerObject } from '../storage/objects.ts';
import { mailboxHash, type Uploader, withinQuota } from './quota.ts';

/** A file that is to be stored. */
export interface Registered {
  uploader: Uploader;
  mediaType: string;
  sizeBytes: number;
  kind: 'image' | 'video';
  /** Null if the file was not measured. */
  facts: MediaFacts | null;
}

const INSERT = namedStatement(
  'upload_insert',
  ['id', 'accountId', 'mailboxHash', 'kind', 'width', 'height', 'durationSeconds', 'lastsDays'],
  `insert into uploads (object_id, account_id, mailbox_hash, kind, width, height,
     duration_seconds, lasts_days)
   values (:id, :accountId, :mailboxHash, :kind, :width, :height, :durationSeconds, :lastsDays)`,
);

/**
 * Makes the row of an upload before its file is stored. From here on it counts in the quota.
 * @returns the id of the upload
 * @throws ApiError as `withinQuota`
 */
export function registerUpload(db: Database, file: Registered): Promise<string> {
  return withinQuota(db, file, (tx) => insert(tx, file));
}

async function insert(tx: Queryable, file: Registered): Promise<string> {
  const { uploader, mediaType, sizeBytes, kind, facts } = file;
  const { accountId, lastsDays } = uploader;
  const object = { ownerId: accountId, role: 'upload', mediaType, sizeBytes } as const;
  const id = await registerObject(tx, object);
  const owner = { accountId, mailboxHash: mailboxHash(uploader), lastsDays };
  const { width = null, height = null } = facts ?? {};
  const durationSeconds = facts?.kind === 'video' ? facts.durationSeconds : null;
  await tx.query(INSERT, INSERT.values({ id, ...owner, kind, width, height, durationSeconds }));
  return id;
}
