import { command, type Database, statement, type Transaction } from '../database/database.ts';
import { eraseJobs } from '../providers/registry.ts';
import {
  type LockedObject,
  lockObject,
  type Removal,
  takeDownObject,
  takeDownObjectsOf,
} from '../storage/removal.ts';
import { attemptsOf } from './attempts.ts';
import { FINDING_TEXTS } from './evidence.ts';

const ERASED = 'erased';

/** SQL: a request without the client's content. */
function erasedRequest(request: string): string {
  return `(${request}) - '{image_url,end_image_url}'::text[] || '{"prompt": "${ERASED}",
         "erased": true, "reference_image_urls": [], "reference_video_urls": []}'::jsonb`;
}

/** Tasks erased per transaction, to keep it short. */
const BATCH = 200;

const NEXT = statement(
  'erase_next_tasks',
  `select id from tasks
   where account_id = $1 and due_at is null and request->'erased' is null
   order by created_at limit ${BATCH} for update`,
);

// Ids, sizes, times, prices and states stay: the books and the audit need them.
const ERASE_TASKS = [
  statement(
    'erase_task',
    `update tasks set provider_output = null, error_details = null,
       error_message = case when error_message is null then null else '${ERASED}' end,
       request = ${erasedRequest('request')},
       inputs = (select coalesce(jsonb_agg(one - 'sha256'), '[]') from jsonb_array_elements(inputs) one)
     where id = any($1)`,
  ),
  statement('erase_annotations', 'delete from task_annotations where task_id = any($1)'),
  statement('erase_history', 'update task_history set cause = null where task_id = any($1)'),
  statement(
    'erase_evidence',
    `update evidence set finding = finding - ${FINDING_TEXTS}
     where attempt_id = any(array(select id from attempts where task_id = any($1)))`,
  ),
  // An orphan job's status may have a link to the video.
  statement('erase_orphans', 'update orphan_jobs set status = null where task_id = any($1)'),
  statement('erase_attempts', 'update attempts set cause = null where task_id = any($1)'),
];

// The fingerprint is a hash of the request: a short prompt could be guessed.
const eraseFingerprints = command<[accountId: string], Transaction>(
  'erase_fingerprints',
  `update idempotency_keys set fingerprint = '' where account_id = $1 and fingerprint <> ''`,
);

/**
 * Removes the personal data of a batch of an account's ended tasks or, when none are left, of its
 * Idempotency-Keys.
 * @returns the number of tasks: repeat it in new transactions until it is 0
 */
export async function eraseOf(tx: Transaction, accountId: string): Promise<number> {
  const erased = await eraseTasks(tx, accountId);
  if (erased === 0) await eraseFingerprints(tx, accountId);
  return erased;
}

async function eraseTasks(tx: Transaction, accountId: string): Promise<number> {
  const tasks = await tx.query<{ id: string }>(NEXT, [accountId]);
  if (tasks.length === 0) return 0;
  const ids = tasks.map(({ id }) => id);
  const { attemptIds, jobIds } = await attemptsOf(tx, ids);
  await takeDownObjectsOf(tx, ids, jobIds);
  await eraseJobs(tx, attemptIds);
  for (const erase of ERASE_TASKS) await tx.query(erase, [ids]);
  return ids.length;
}

/**
 * Takes down an ended task's video at its owner's request, with its poster and its jobs' renders.
 * From the commit on they are not served; a worker deletes the bytes within seconds. Idempotent.
 */
export async function deleteOutput(db: Database, objectId: string): Promise<void> {
  await db.transaction(async (tx) => {
    const object = await lockObject(tx, objectId);
    if (object) await takeDownOutput(tx, object, { by: 'owner' });
  });
}

/** Like {@link deleteOutput}. @returns until when the video is kept as evidence, or null */
export async function takeDownOutput(
  tx: Transaction,
  { id, owner_id: taskId }: LockedObject,
  removal: Removal,
): Promise<Date | null> {
  const { jobIds } = await attemptsOf(tx, [taskId]);
  return takeDownObject(tx, id, removal, { taskId, jobIds });
}
