import {
  type Database,
  namedStatement,
  statement,
  type Transaction,
} from '../../database/database.ts';
import { deleteJobs, runsJob } from '../../providers/registry.ts';
import { hasFiles, isPastRetention } from '../../storage/object-sql.ts';
import { forgetObjects } from '../../storage/removal.ts';
import { attemptsOf } from '../attempts/attempts.ts';
import { ARCHIVED_JOBS } from './every-task.ts';
import { TASK_RECORDS } from './records.ts';

const PAGE = namedStatement(
  'archive_page',
  ['before', 'createdAt', 'id', 'limit'],
  `select id, created_at::text as "createdAt",
     due_at is null and updated_at < :before::timestamptz as "isOld"
   from tasks
   where created_at < :before::timestamptz and (created_at, id) > (:createdAt::timestamptz, :id)
   order by created_at, id limit :limit`,
);

/** A task that was created before a cutoff. */
interface OldTask {
  id: string;
  createdAt: string;
  /** Ended before the cutoff. */
  isOld: boolean;
}

/** The first tasks that were created before the cutoff and after a task, in this order. */
export function tasksBefore(
  db: Database,
  page: { before: string; createdAt: string; id: string; limit: number },
): Promise<OldTask[]> {
  return db.query<OldTask>(PAGE, PAGE.values(page));
}

// Attempts are locked before tasks, like everywhere. From then on, no callback adds evidence.
const LOCK_ATTEMPTS = statement(
  'archive_lock_attempts',
  'select from attempts where task_id = any($1) order by id for update',
);

const LOCK = statement(
  'archive_lock',
  `select id from tasks where id = any($1) and due_at is null for update skip locked`,
);

const ATTEMPTS = 'array(select id from attempts where task_id = tasks.id)';

// What may matter to another task, or is counted by a metric, stays: see decisions/0025.
const NEEDED = [
  'provider_billed is true',
  'exists (select from orphan_jobs o where o.task_id = tasks.id)',
  `exists (select from attempts a where a.task_id = tasks.id
     and (a.state in ('in_flight', 'unknown') or coalesce(a.outcome_by, 'sender') <> 'sender'))`,
  `exists (select from attempts a join evidence e on e.attempt_id = a.id
     where a.task_id = tasks.id
       and (e.source = 'operator' or e.finding->>'job' <> coalesce(a.job_id, '')))`,
  `exists (select from attempts a join ${ARCHIVED_JOBS} other
     on other.provider = a.provider and other.job_id = a.job_id where a.task_id = tasks.id)`,
  '(select count(*) > 1 from attempts a where a.task_id = tasks.id and a.job_id is not null)',
  `phase = 'completed' and not ${isPastRetention('tasks.output_object_id')}`,
];

const STORED = `${hasFiles(`tasks.id || ${ATTEMPTS}`)} or ${runsJob(ATTEMPTS)}`;

const CHOOSE = statement(
  'archive_choose',
  `select id, ${STORED} as is_stored, ${NEEDED.join(' or ')} as is_needed
   from tasks where id = any($1)`,
);

interface Choice {
  id: string;
  /** A file of it is kept. */
  is_stored: boolean;
  is_needed: boolean;
}

const INSERT = statement(
  'archive_insert',
  `insert into archived_tasks (id, account_id, phase, credits, provider, job_id, output_object_id,
     api_key_id, created_at, record)
   select id, account_id, phase, credits, provider,
     (select a.job_id from attempts a where a.task_id = tasks.id and a.job_id is not null),
     output_object_id, api_key_id, created_at, jsonb_build_object(${TASK_RECORDS})
   from tasks where id = any($1)`,
);

const DELETE = [
  statement(
    'archive_evidence',
    `delete from evidence
     where attempt_id = any(array(select id from attempts where task_id = any($1)))`,
  ),
  statement('archive_history', 'delete from task_history where task_id = any($1)'),
  statement('archive_cancels', 'delete from cancel_requests where task_id = any($1)'),
  statement('archive_attempts', 'delete from attempts where task_id = any($1)'),
  statement('archive_tasks', 'delete from tasks where id = any($1)'),
];

/**
 * Moves those of the tasks to the archive that have ended and that nothing needs, with their
 * attempts, evidence, history and objects: one row each.
 */
export async function moveToArchive(tx: Transaction, taskIds: string[]) {
  await tx.query(LOCK_ATTEMPTS, [taskIds]);
  const locked = await tx.query<{ id: string }>(LOCK, [taskIds]);
  const choices = await tx.query<Choice>(CHOOSE, [locked.map(({ id }) => id)]);
  const ids = choices.filter((task) => !task.is_stored && !task.is_needed).map(({ id }) => id);
  if (ids.length > 0) await move(tx, ids);
  return {
    archived: ids.length,
    /** Tasks that stay, because a file of them is kept. */
    kept_with_files: choices.filter((task) => task.is_stored).length,
    /** Tasks that stay, because another task or a metric may need their records. */
    kept_with_records: choices.filter((task) => task.is_needed && !task.is_stored).length,
  };
}

async function move(tx: Transaction, ids: string[]): Promise<void> {
  await tx.query(INSERT, [ids]);
  const { attemptIds } = await attemptsOf(tx, ids);
  // The own copies of a provider: jobs that have ended, renders that were deleted.
  await deleteJobs(tx, attemptIds);
  await forgetObjects(tx, [...attemptIds, ...ids]);
  for (const forget of DELETE) await tx.query(forget, [ids]);
}
