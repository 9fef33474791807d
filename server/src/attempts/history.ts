import {
  command,
  type Database,
  namedStatement,
  queryColumn,
  statement,
  type Transaction,
} from '../database/database.ts';
import { deleteJobs, runsJob } from '../providers/registry.ts';
import { hasFiles, isPastRetention } from '../storage/object-sql.ts';
import { forgetObjects } from '../storage/removal.ts';
import { attemptsOf } from './attempts.ts';

/** Tasks examined per statement. */
const PAGE = 1000;

const cutoff = queryColumn<[days: number], string>(
  'history_cutoff',
  `select (clock_now() - $1::float8 * interval '1 day')::text as before`,
);

const NEXT = namedStatement(
  'history_page',
  `select id, created_at::text as "createdAt" from tasks
   where created_at < :before::timestamptz and (created_at, id) > (:createdAt::timestamptz, :id)
   order by created_at, id limit ${PAGE}`,
);

const ATTEMPTS = 'array(select id from attempts where task_id = tasks.id)';

// Conditions under which a task keeps its records: another task or an operator may need them.
const NEEDED = [
  'provider_billed is true', // a metric counts billed failures
  // The provider may bill its orphan job.
  'exists (select from orphan_jobs o where o.task_id = tasks.id)',
  // An attempt's outcome is open, or was not simply reported by its sender.
  `exists (select from attempts a where a.task_id = tasks.id
     and (a.state in ('in_flight', 'unknown') or coalesce(a.outcome_by, 'sender') <> 'sender'))`,
  // An operator decided, or the evidence names a job that may be another attempt's.
  `exists (select from attempts a join evidence e on e.attempt_id = a.id
     where a.task_id = tasks.id
       and (e.source = 'operator' or e.finding->>'job' <> coalesce(a.job_id, '')))`,
  // The task has several jobs.
  `(select count(*) > 1 from attempts a
     where a.task_id = tasks.id and a.job_id is not null and a.state <> 'replaced')`,
  // Its video is still offered, or was lost before its retention was over.
  `phase = 'completed' and not ${isPastRetention('tasks.output_object_id')}`,
  // Some file is still to be deleted.
  hasFiles(`tasks.id || ${ATTEMPTS}`),
  runsJob(ATTEMPTS), // such as a cancelled job that the local renderer has not stopped yet
];

const deletable = queryColumn<[taskIds: string[], before: string], string>(
  'history_deletable',
  `select id from tasks where id = any($1) and due_at is null and updated_at < $2::timestamptz
     and exists (select from task_history h where h.task_id = tasks.id)
     and not (${NEEDED.join(' or ')})`,
);

// Attempts are locked before tasks, as everywhere. From then on, no callback adds evidence.
const lockAttempts = command<[taskIds: string[]], Transaction>(
  'history_lock_attempts',
  'select from attempts where task_id = any($1) order by id for update',
);

const DELETE = [
  statement(
    'history_evidence_delete',
    `delete from evidence
     where attempt_id = any(array(select id from attempts where task_id = any($1)))`,
  ),
  statement('history_cancels_delete', 'delete from cancel_requests where task_id = any($1)'),
  statement('history_delete', 'delete from task_history where task_id = any($1)'),
];

/**
 * Deletes the history, the evidence and the rows of deleted files (except outputs') of tasks that
 * ended more than `days` ago, unless the records are {@link NEEDED} (decisions/0025). The tasks,
 * their attempts and transfers stay. Works in short transactions.
 * @returns the number of tasks
 */
export async function deleteHistory(
  db: Database,
  days: number,
  signal?: AbortSignal,
): Promise<number> {
  const [before = ''] = await cutoff(db, days);
  let cursor = { createdAt: '-infinity', id: '' };
  for (let deleted = 0; ; ) {
    const page = await db.query<typeof cursor>(NEXT, NEXT.values({ before, ...cursor }));
    const last = page.at(-1);
    if (!last || signal?.aborted) return deleted;
    cursor = last;
    const found = await deletable(
      db,
      page.map(({ id }) => id),
      before,
    );
    if (found.length > 0) deleted += await deleteOf(db, found, before);
  }
}

async function deleteOf(db: Database, found: string[], before: string): Promise<number> {
  return db.transaction(async (tx) => {
    await lockAttempts(tx, found);
    const taskIds = await deletable(tx, found, before);
    const { attemptIds } = await attemptsOf(tx, taskIds);
    // Rows that a provider keeps in this database: its ended jobs and deleted renders.
    await deleteJobs(tx, attemptIds);
    await forgetObjects(tx, [...attemptIds, ...taskIds]);
    for (const forget of DELETE) await tx.query(forget, [taskIds]);
    return taskIds.length;
  });
}
