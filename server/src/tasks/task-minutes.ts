import { query } from '../database/database.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';

/** How many of the newest tasks are read. With more tasks, the first minutes are left out. */
const MAX_TASKS = 50_000;

interface TaskMinute {
  /** When it began: seconds since 1970. */
  at: number;
  created: number;
  completed: number;
  failed: number;
  /** At its end: the tasks live now, less those that later minutes added. */
  live: number;
  /** From create to acceptance, of those created in it; null without one. */
  accepted_p50: number | null;
  accepted_p95: number | null;
  /** From create to end, of those completed in it; null without one. */
  completed_p50: number | null;
  completed_p95: number | null;
}

const percentiles = (seconds: string, condition = 'true') =>
  `percentile_cont(array[0.5, 0.95]) within group (order by extract(epoch from ${seconds})::float8)
     filter (where ${condition})`;

/**
 * What became of the tasks in each minute of the last two hours, the oldest first, without those of
 * test keys. An end is counted if its task was created at most an hour earlier than the first
 * minute.
 */
export const readTaskMinutes = query<[], TaskMinute>(
  'operator_task_minutes',
  `with recent as materialized (
     select phase, created_at, accepted_at, case when due_at is null then updated_at end as ended_at
     from tasks where created_at > (select clock_now()) - interval '3 hours'
       and surface <> '${TEST_SURFACE}'
     order by created_at desc limit ${MAX_TASKS}),
   begun as (
     select date_trunc('minute', created_at) as at, count(*) as created,
       ${percentiles('accepted_at - created_at', 'accepted_at is not null')} as accepted
     from recent group by 1),
   ended as (
     select date_trunc('minute', ended_at) as at,
       count(*) filter (where phase = 'completed') as completed,
       count(*) filter (where phase = 'failed') as failed,
       ${percentiles('ended_at - created_at', `phase = 'completed'`)} as took
     from recent where ended_at is not null group by 1),
   minutes as (
     select at, coalesce(created, 0)::int as created, coalesce(completed, 0)::int as completed,
       coalesce(failed, 0)::int as failed, accepted, took
     from generate_series(
       date_trunc('minute', greatest(clock_now() - interval '2 hours',
         (select min(created_at) from recent having count(*) = ${MAX_TASKS}))),
       clock_now(), interval '1 minute') at
     left join begun using (at) left join ended using (at))
   select extract(epoch from at)::float8 as at, created, completed, failed,
     ((select count(*) from tasks where due_at is not null and surface <> '${TEST_SURFACE}')
       - coalesce(sum(created - completed - failed) over (
         order by at desc rows between unbounded preceding and 1 preceding), 0))::int as live,
     accepted[1] as accepted_p50, accepted[2] as accepted_p95,
     took[1] as completed_p50, took[2] as completed_p95
   from minutes order by at`,
);
