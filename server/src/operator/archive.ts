import { setTimeout as delay } from 'node:timers/promises';
import {
  type Database,
  namedStatement,
  statement,
  type Transaction,
} from '../database/database.ts';
import { type Action, recordAction } from './actions.ts';
import { TASK_RECORDS } from './task-listing.ts';

/** How many tasks one transaction moves at most, so that it is short. */
const BATCH = 500;

const CUTOFF = statement(
  'archive_cutoff',
  `select clock_now() - $1::float8 * interval '1 day' as before`,
);

const PAGE = namedStatement(
  'archive_page',
  ['before', 'createdAt', 'id', 'limit'],
  `select id, created_at::text as created_at,
     due_at is null and updated_at < :before::timestamptz as is_old
   from tasks
   where created_at < :before::timestamptz and (created_at, id) > (:createdAt::timestamptz, :id)
   order by created_at, id limit :limit`,
);

interface PageRow {
  id: string;
  created_at: string;
  /** Ended before the cutoff. */
  is_old: boolean;
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

const ATTEMPTS = '(select id from attempts where task_id = t.id)';

// What may matter to another task, or is counted by a metric, stays: see decisions/0025.
const NEEDED = [
  't.provider_billed is true',
  'exists (select from orphan_jobs o where o.task_id = t.id)',
  `exists (select from attempts a where a.task_id = t.id
     and (a.state in ('in_flight', 'unknown') or coalesce(a.outcome_by, 'sender') <> 'sender'))`,
  `exists (select from attempts a join evidence e on e.attempt_id = a.id where a.task_id = t.id
     and (e.source = 'operator' or e.finding->>'job' <> coalesce(a.job_id, '')))`,
  `exists (select from attempts a join archived_tasks other
     on other.provider = a.provider and other.job_id = a.job_id where a.task_id = t.id)`,
  '(select count(*) > 1 from attempts a where a.task_id = t.id and a.job_id is not null)',
  `t.phase = 'completed' and not exists (select from objects o where o.id = t.output_object_id
     and (o.taken_down_at is not null or o.delete_after <= clock_now()))`,
];

const STORED = [
  `exists (select from objects o where o.task_id = t.id and o.state <> 'deleted')`,
  `exists (select from objects o where o.task_id = any(array${ATTEMPTS}) and o.state <> 'deleted')`,
  `exists (select from local_jobs j where j.id = any(array${ATTEMPTS})
     and j.state in ('queued', 'rendering'))`,
];

const CHOOSE = statement(
  'archive_choose',
  `select t.id, ${STORED.join(' or ')} as is_stored, ${NEEDED.join(' or ')} as is_needed
   from tasks t where t.id = any($1)`,
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
   select t.id, t.account_id, t.phase, t.credits, t.provider,
     (select a.job_id from attempts a where a.task_id = t.id and a.job_id is not null),
     t.output_object_id, t.api_key_id, t.created_at,
     jsonb_build_object(${TASK_RECORDS})
   from tasks t where t.id = any($1)`,
);

const OF_ATTEMPTS = 'any(array(select id from attempts where task_id = any($1)))';

const DELETE = [
  statement('archive_evidence', `delete from evidence where attempt_id = ${OF_ATTEMPTS}`),
  // The local provider's own copies: jobs that have ended, renders that were deleted.
  statement('archive_local_jobs', `delete from local_jobs where id = ${OF_ATTEMPTS}`),
  statement('archive_renders', `delete from objects where task_id = ${OF_ATTEMPTS}`),
  statement('archive_objects', 'delete from objects where task_id = any($1)'),
  statement('archive_history', 'delete from task_history where task_id = any($1)'),
  statement('archive_cancels', 'delete from cancel_requests where task_id = any($1)'),
  statement('archive_attempts', 'delete from attempts where task_id = any($1)'),
  statement('archive_tasks', 'delete from tasks where id = any($1)'),
];

/** What a run did. */
interface Archived {
  /** Tasks that ended before this time were looked at. ISO 8601, UTC. */
  before: string;
  archived: number;
  /** Tasks that stay, because a file of them is kept. */
  kept_with_files: number;
  /** Tasks that stay, because another task or a metric may need their records. */
  kept_with_records: number;
  changed: boolean;
}

/** How often the progress is shown. */
const SHOW_MS = 5000;

/**
 * Moves the tasks that ended more than `days` ago, with their attempts, evidence, history and
 * objects, to the archive: one row each. Their Idempotency-Keys and their transfers stay where they
 * are. It works in short transactions and pauses after each as long as that took. An interrupted
 * run is continued by the next one; several may run at once.
 * @param show receives the progress, a line every few seconds
 */
export async function archiveTasks(
  db: Database,
  action: Action,
  { days, show = () => {} }: { days: number; show?: ((line: string) => void) | undefined },
  batch = BATCH,
): Promise<Archived> {
  const [cutoff] = await db.query<{ before: Date }>(CUTOFF, [days]);
  const before = cutoff?.before.toISOString() ?? '';
  const total = { before, archived: 0, kept_with_files: 0, kept_with_records: 0 };
  let cursor = { createdAt: '-infinity', id: '' };
  let shownAt = performance.now();
  for (;;) {
    const startedAt = performance.now();
    const page = await db.query<PageRow>(PAGE, PAGE.values({ before, ...cursor, limit: batch }));
    const last = page.at(-1);
    if (!last) return { ...total, changed: total.archived > 0 };
    cursor = { createdAt: last.created_at, id: last.id };
    const old = page.filter((task) => task.is_old).map(({ id }) => id);
    const record = total.archived > 0 ? undefined : { action, details: { days, before } };
    const moved = await db.transaction((tx) => moveTasks(tx, old, record));
    total.archived += moved.archived;
    total.kept_with_files += moved.kept_with_files;
    total.kept_with_records += moved.kept_with_records;
    if (performance.now() - shownAt > SHOW_MS) {
      shownAt = performance.now();
      show(`${total.archived} archived, now at tasks created ${last.created_at}`);
    }
    await delay(performance.now() - startedAt);
  }
}

/** @param record the action, recorded if a task is moved: only with the first tasks of a run */
async function moveTasks(
  tx: Transaction,
  old: string[],
  record: { action: Action; details: object } | undefined,
) {
  await tx.query(LOCK_ATTEMPTS, [old]);
  const locked = await tx.query<{ id: string }>(LOCK, [old]);
  const choices = await tx.query<Choice>(CHOOSE, [locked.map(({ id }) => id)]);
  const ids = choices.filter((task) => !task.is_stored && !task.is_needed).map(({ id }) => id);
  if (ids.length > 0) {
    for (const move of [INSERT, ...DELETE]) await tx.query(move, [ids]);
    if (record) await recordAction(tx, record.action, { target: 'tasks', details: record.details });
  }
  return {
    archived: ids.length,
    kept_with_files: choices.filter((task) => task.is_stored).length,
    kept_with_records: choices.filter((task) => task.is_needed && !task.is_stored).length,
  };
}
