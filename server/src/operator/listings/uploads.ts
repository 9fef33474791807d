import { type Database, namedStatement, query } from '../../database/database.ts';
import { STORED_UPLOADS } from '../../storage/object-sql.ts';

/** SQL: the uploads whose bytes are stored, or are being stored. */
const STORED = `stored as materialized (
     select id, size_bytes, state, media_type, delete_after from ${STORED_UPLOADS} s
     where id = any(array(select object_id from uploads)))`;

const LIST = namedStatement(
  'operator_uploads',
  `with ${STORED}
   select s.id as upload_id, u.account_id, a.email, s.state, s.media_type,
     s.size_bytes, u.created_at, s.delete_after as expires_at
   from stored s join uploads u on u.object_id = s.id join accounts a on a.id = u.account_id
   where (:accountId::text is null or u.account_id = :accountId)
     and (:after::text is null or (u.created_at, s.id) <
       (select c.created_at, c.object_id from uploads c where c.object_id = :after))
   order by u.created_at desc, s.id desc limit :limit`,
);

/** Stored uploads, the newest first. `after`: only those older than the upload with this id. */
export function listUploads(
  db: Database,
  page: { accountId?: string | undefined; after?: string | undefined; limit: number },
): Promise<{ upload_id: string }[]> {
  const { accountId = null, after = null, limit } = page;
  return db.query(LIST, LIST.values({ accountId, after, limit }));
}

/** The mailboxes whose uploads take the most bytes, each with one of its accounts. */
export const listUploadMailboxes = query<[], object>(
  'operator_upload_mailboxes',
  `with ${STORED}
   select max(a.id) as account_id, max(a.email) as email, count(distinct a.id)::int as accounts,
     count(*)::int as uploads, sum(s.size_bytes)::int8 as bytes
   from stored s join uploads u on u.object_id = s.id join accounts a on a.id = u.account_id
   group by u.mailbox_hash
   order by bytes desc, account_id limit 20`,
);
