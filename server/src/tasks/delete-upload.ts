import { type Database, queryFirst } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { lockObject, removeStoredUploads } from '../storage/removal.ts';
import { isOwnUpload } from '../uploads/uploads.ts';

// Repeats the condition of the index tasks_ingest, so that Postgres uses it.
const taskUsingUpload = queryFirst<[accountId: string, url: string], { id: string }>(
  'upload_task_in_need',
  `select id from tasks
   where account_id = $1 and phase in ('reserved', 'ingesting')
     and request->>'mode' <> 'text-to-video'
     and ($2 in (request->>'image_url', request->>'end_image_url')
       or request->'reference_image_urls' ? $2 or request->'reference_video_urls' ? $2)
   limit 1`,
);

/**
 * Deletes an upload. Idempotent.
 * @returns whether the account has, or had, such an upload
 * @throws ApiError `upload_in_use` while a task has not copied it yet
 */
export function deleteUpload(
  db: Database,
  { accountId, id }: { accountId: string; id: string },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    if (!(await isOwnUpload(tx, id, accountId))) return false;
    // A create locks the upload to renew it. So under this lock a create has either committed, and
    // its task is found below, or it will find the upload deleted.
    await lockObject(tx, id);
    const task = await taskUsingUpload(tx, accountId, `upload:${id}`);
    if (task) throw inUse(task.id);
    await removeStoredUploads(tx, [id]);
    return true;
  });
}

function inUse(taskId: string): ApiError {
  const message =
    'A task that has just begun still needs this file. Try again in a few seconds, or cancel it.';
  return new ApiError('upload_in_use', message, { details: { task_id: taskId } });
}
