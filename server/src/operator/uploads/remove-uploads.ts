import { type Database, statement, type Transaction } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import { type Action, performAction } from '../actions.ts';

// A task that has not copied its upload yet fails, and is refunded.
const REMOVE = statement(
  'operator_uploads_remove',
  `with removed as (
     update objects set state = 'deleting'
     where id = any($1) and role = 'upload' and state in ('writing', 'ready')
     returning size_bytes)
   select count(*)::int as uploads, coalesce(sum(size_bytes), 0)::int8 as bytes from removed`,
);

const OF_MAILBOX = statement(
  'operator_uploads_of_mailbox',
  `select object_id as id from uploads
   where account_id = $1 or mailbox_hash = any(array(
     select mailbox_hash from uploads where account_id = $1 and mailbox_hash is not null))`,
);

const IS_UPLOAD = statement(
  'operator_is_upload',
  'select object_id as id from uploads where object_id = $1',
);

/** Removes an upload. @throws UsageError when there is none with this id */
export function removeUpload(db: Database, action: Action, id: string) {
  return performAction(db, action, { target: id }, async (tx) => {
    const found = await tx.query<{ id: string }>(IS_UPLOAD, [id]);
    if (found.length === 0) throw new UsageError(`there is no upload ${JSON.stringify(id)}`);
    return { upload_id: id, ...(await remove(tx, found)) };
  });
}

/** Removes the uploads of an account, and of all accounts with the same mailbox. */
export function removeUploadsOfMailbox(db: Database, action: Action, accountId: string) {
  return performAction(db, action, { target: accountId }, async (tx) => {
    const found = await tx.query<{ id: string }>(OF_MAILBOX, [accountId]);
    return { account_id: accountId, ...(await remove(tx, found)) };
  });
}

async function remove(tx: Transaction, found: { id: string }[]) {
  const ids = found.map(({ id }) => id);
  const [row] = await tx.query<{ uploads: number; bytes: number }>(REMOVE, [ids]);
  const { uploads = 0, bytes = 0 } = row ?? {};
  return { removed_uploads: uploads, removed_bytes: bytes, changed: uploads > 0 };
}
