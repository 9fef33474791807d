import { namedStatement, type Queryable, statement } from '../database/database.ts';
import { NO_RECOVERY } from '../database/lineage.ts';
import { NOW, UNLEASED } from '../tasks/lease.ts';
import { TASK_COLUMNS, type Task } from '../tasks/task.ts';
import { LEASE_SECONDS } from '../tasks/transitions.ts';
import { NEXT_DELIVERY } from '../webhooks/claim.ts';

/**
 * The worker pool that runs a task. Each has its own slots, so that slow downloads, many polls,
 * finds short of rate budget and outputs queued for the one decoder delay only their own kind.
 */
export const WORKER_POOLS = ['ingest', 'submit', 'poll', 'find', 'archive'] as const;
export type WorkerPool = (typeof WORKER_POOLS)[number];

export function poolOf({ phase, held_cause, request }: Task): WorkerPool {
  switch (phase) {
    case 'reserved':
    case 'ingesting':
      return request.mode === 'text-to-video' ? 'submit' : 'ingest';
    case 'submitting':
      return 'submit';
    case 'archiving':
      return 'archive';
    default:
      return held_cause === 'acceptance' ? 'find' : 'poll';
  }
}

const TO_INGEST = `phase in ('reserved', 'ingesting') and request->>'mode' <> 'text-to-video'`;

/** SQL for {@link poolOf}; must match the expression of the index tasks_due_in_pool verbatim. */
export const POOL = `(case when ${TO_INGEST} then 'ingest'
    when phase in ('reserved', 'ingesting', 'submitting') then 'submit'
    when phase = 'archiving' then 'archive'
    when held_cause = 'acceptance' then 'find'
    else 'poll' end)`;

/** The due tasks that have waited longest, per provider; locks them. */
function duePerProvider(from: string, condition: string) {
  return `select picked.id, picked.due_at
     from unnest(:providers::text[], :limits::int[]) as wanted (provider, slots)
     cross join lateral (
       select tasks.id, tasks.due_at from ${from}
       where ${condition} and tasks.due_at <= ${NOW} and ${UNLEASED}
       order by tasks.due_at, tasks.created_at limit wanted.slots
       for update of tasks skip locked) as picked` as const;
}

const dueIn = (pool: WorkerPool) =>
  `${POOL} = '${pool}' and tasks.provider = wanted.provider and tasks.due_at is not null`;

// During a recovery (database/lineage.ts), nothing is claimed. The ids are an array, so that
// Postgres finds the rows by their index.
const LEASE = `update tasks set lease = lease + 1,
     leased_until = clock_now() + interval '${LEASE_SECONDS} seconds'
   where id = any(array(select id from chosen)) and ${NO_RECOVERY} returning ${TASK_COLUMNS}`;

// An attempt in flight whose task is not leased was left by a dead worker: its job must be found.
const IN_FLIGHT = `attempts.state = 'in_flight'`;

const claimIn = (pool: WorkerPool, condition = dueIn(pool)) =>
  namedStatement(
    `task_claim_${pool}`,
    `with due as materialized (${duePerProvider('tasks', condition)}),
     chosen as materialized (select id from due order by due_at limit :slots) ${LEASE}`,
  );

// Tasks in phase `submitting` come first: their clients may be waiting for a response.
const CLAIM_FIND = namedStatement(
  'task_claim_find',
  `with left_in_flight as materialized (${duePerProvider(
    'attempts join tasks on tasks.id = attempts.task_id',
    `attempts.provider = wanted.provider and ${IN_FLIGHT} and tasks.phase = 'submitting'`,
  )}),
     held as materialized (${duePerProvider('tasks', dueIn('find'))}),
     chosen as materialized (
       select id from (select id, due_at, 1 as part from left_in_flight
         union all select id, due_at, 2 from held) as due order by part, due_at limit :slots)
   ${LEASE}`,
);

const CLAIM = {
  submit: claimIn(
    'submit',
    `${dueIn('submit')} and not exists (select from attempts
       where attempts.task_id = tasks.id and ${IN_FLIGHT})`,
  ),
  poll: claimIn('poll'),
  find: CLAIM_FIND,
  archive: claimIn('archive'),
};

/** Serializes ingest claims across processes, so that no account gets too many. */
const INGEST_LOCK = 7_100_001;

// `waiting` skips from account to account, so tasks beyond an account's limit are not read. Slots
// go round-robin to the accounts. `chosen` checks again, under the lock of each row.
const CLAIM_INGEST = namedStatement(
  'task_claim_ingest',
  `with recursive locked as materialized (select pg_advisory_xact_lock(${INGEST_LOCK})),
     waiting (account_id) as (
       (select account_id from tasks where ${TO_INGEST} order by account_id limit 1)
       union all
       select (select tasks.account_id from tasks
         where ${TO_INGEST} and tasks.account_id > waiting.account_id
         order by tasks.account_id limit 1)
       from waiting where waiting.account_id is not null),
     fetching as materialized (
       select account_id, fetching_tasks(account_id) as tasks from locked cross join waiting
       where account_id is not null),
     ranked as materialized (
       select picked.id, picked.due_at, fetching.tasks
         + row_number() over (partition by fetching.account_id order by picked.due_at) as slot
       from fetching cross join lateral (
         select tasks.id, tasks.due_at from tasks
         where ${TO_INGEST} and tasks.account_id = fetching.account_id
           and tasks.provider = any(:providers) and tasks.due_at <= ${NOW} and ${UNLEASED}
         order by tasks.due_at, tasks.created_at
         limit greatest(0, :accountLimit::int - fetching.tasks)) as picked),
     chosen as materialized (
       select id from tasks
       where id = any(array(select id from ranked order by slot, due_at limit :slots))
         and tasks.due_at <= ${NOW} and ${UNLEASED}
       for update skip locked)
   ${LEASE}`,
);

// Covers webhook deliveries too: an idle worker runs one statement for both.
const DUE_WORK = statement(
  'task_due_work',
  `select 'webhooks' as work, extract(epoch from due_at - ${NOW})::float8 as seconds
   from (select ${NEXT_DELIVERY} as due_at) as delivery
   where due_at <= ${NOW} + $3 * interval '1 second'
   union all
   select pool, extract(epoch from min(due_at) - ${NOW})::float8 as seconds
   from unnest($1::text[]) as pool cross join unnest($2::text[]) as wanted (provider)
   cross join lateral (
     select due_at from tasks where ${POOL} = pool and tasks.provider = wanted.provider
       and tasks.due_at <= ${NOW} + $3 * interval '1 second' and ${UNLEASED}
     order by due_at limit 1) as earliest
   group by pool`,
);

export type DueWork = WorkerPool | 'webhooks';

/**
 * @returns which pools have due tasks of these providers, whether webhooks have due deliveries,
 *   and in how many seconds more will be due
 */
export async function findDueWork(
  db: Queryable,
  providers: string[],
  withinSeconds: number,
): Promise<{ due: DueWork[]; nextSeconds: number | undefined }> {
  const values = [WORKER_POOLS, providers, withinSeconds];
  const rows = await db.query<{ work: DueWork; seconds: number }>(DUE_WORK, values);
  const due = rows.flatMap(({ work, seconds }) => (seconds <= 0 ? [work] : []));
  const later = rows.map(({ seconds }) => seconds).filter((seconds) => seconds > 0);
  return {
    // Attempts that a dead worker left in flight belong to tasks of the submit pool.
    due: due.includes('submit') && !due.includes('find') ? [...due, 'find'] : due,
    nextSeconds: later.length > 0 ? Math.min(...later) : undefined,
  };
}

/**
 * Leases due tasks, longest due first; ingests are taken round-robin by account. Concurrent claims
 * get different tasks.
 * @param free.limits how many tasks of each provider
 * @param free.accountLimit how many tasks of one account may fetch files at once, across all
 *   processes
 */
export function claimDue(
  db: Queryable,
  pool: WorkerPool,
  free: { slots: number; limits: ReadonlyMap<string, number>; accountLimit: number },
): Promise<Task[]> {
  const { slots, limits, accountLimit } = free;
  const providers = [...limits.keys()];
  if (pool === 'ingest') {
    return db.query(CLAIM_INGEST, CLAIM_INGEST.values({ providers, slots, accountLimit }));
  }
  const sql = CLAIM[pool];
  return db.query(sql, sql.values({ providers, limits: [...limits.values()], slots }));
}
