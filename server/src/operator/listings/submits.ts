import { query } from '../../database/database.ts';

export const waitingTasks = query<[], { provider: string; tasks: number }>(
  'tasks_waiting',
  `select provider, count(*)::int as tasks from tasks
   where due_at is not null and phase in ('reserved', 'ingesting', 'submitting', 'review') group by provider`,
);

// Refused through no fault of the request: a wrong key, an overdue account, too many jobs. If the
// request was at fault, the set-up works (`worked_at`).
/** The submits that were refused, of the newest 200 tasks, up to 15 minutes old. */
export const refusedSubmits = query<[], RefusedSubmits>(
  'provider_refused_submits',
  `with outcomes as (
     select a.provider, a.cause, a.outcome_at, a.cause->>'fault' as fault,
       max(a.outcome_at) filter (where a.job_id is not null or a.cause->>'fault' = 'request')
         over (partition by a.provider) as worked_at
     from (select id, created_at from tasks
       order by created_at desc, id desc limit 200) t
     cross join lateral (select provider, cause, outcome_at, state, job_id from attempts
       where task_id = t.id offset 0) a -- uses the index, however small the table
     where t.created_at > (select clock_now()) - interval '15 minutes'
       and a.state in ('accepted', 'replaced', 'rejected'))
   select provider, count(*)::int as submits,
     (array_agg(cause order by outcome_at desc))[1] as cause,
     min(outcome_at) filter (
       where fault = 'operator' and outcome_at > coalesce(worked_at, '-infinity')) as since
   from outcomes where fault in ('busy', 'operator') group by provider`,
);

export interface RefusedSubmits {
  provider: string;
  submits: number;
  cause: object;
  /** The first refusal that the operator must fix, after the last submit that worked. */
  since: Date | null;
}
