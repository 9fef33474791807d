import type { Database, Transaction } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { removeStoredUploads } from '../storage/removal.ts';
import { isUpload, uploadsOfMailbox } from '../uploads/uploads.ts';
import { type Action, performAction } from './actions.ts';

/** Removes an upload. @throws UsageError when there is none with this id */
export function removeUpload(db: Database, action: Action, id: string) {
  return performAction(db, action, { target: id }, async (tx) => {
    if (!(await isUpload(tx, id))) throw new UsageError(`there is no upload ${JSON.stringify(id)}`);
    return { upload_id: id, ...(await remove(tx, [id])) };
  });
}

/** Removes the uploads of an account, and of all accounts with the same mailbox. */
export function removeUploadsOfMailbox(db: Database, action: Action, accountId: string) {
  return performAction(db, action, { target: accountId }, async (tx) => {
    const ids = await uploadsOfMailbox(tx, accountId);
    return { account_id: accountId, ...(await remove(tx, ids)) };
  });
}

// A task that has not copied its upload yet fails, and is refunded.
async function remove(tx: Transaction, ids: string[]) {
  const { uploads, bytes } = await removeStoredUploads(tx, ids);
  return { removed_uploads: uploads, removed_bytes: bytes, changed: uploads > 0 };
}
