import { type Queryable, query } from '../../database/database.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';

/** The most tasks that are looked at. */
const MAX_TASKS = 5000;

/** The attempts of a connection for a model. */
interface Counts {
  provider: string;
  model: string;
  accepted: number;
  /** Rejected because the provider was busy. */
  busy: number;
  /** Rejected for a reason that the operator must fix; refusals of the request are not counted. */
  refused: number;
  /** No response said whether the provider accepted. */
  uncertain: number;
  /** Accepted jobs that failed. */
  failed: number;
  /** From acceptance until the video was stored; null without a completed task. */
  median_seconds: number | null;
}

// `offset 0` keeps the lateral query apart, so that it uses the index however small the table is.
const countAttempts = query<[], Counts>(
  'provider_recent_attempts',
  `with recent as materialized (
     select id, phase, request->>'model' as model, updated_at from tasks
     where created_at > (select clock_now()) - interval '1 day' and surface <> '${TEST_SURFACE}'
     order by created_at desc limit ${MAX_TASKS})
   select provider, model, count(job_id)::int as accepted,
     count(*) filter (where fault = 'busy')::int as busy,
     count(*) filter (where fault = 'operator')::int as refused,
     count(*) filter (where state = 'unknown' or outcome_by <> 'sender')::int as uncertain,
     count(*) filter (where state = 'replaced' or (state = 'accepted' and phase = 'failed'))::int
       as failed,
     (percentile_cont(0.5) within group (order by extract(epoch from updated_at - outcome_at))
       filter (where state = 'accepted' and phase = 'completed'))::float8 as median_seconds
   from recent cross join lateral (
     select provider, state, job_id, outcome_by, outcome_at,
       case when state = 'rejected' then cause->>'fault' end as fault
     from attempts where task_id = recent.id offset 0) tried
   group by provider, model order by provider, model`,
);

type Totals = Omit<Counts, 'provider' | 'model' | 'median_seconds'>;

/** How submits and jobs went at each connection, for tasks created in the last 24 hours. */
export async function recentAttempts(db: Queryable) {
  const rows = await countAttempts(db);
  return [...new Set(rows.map(({ provider }) => provider))].map((provider) => {
    const own = rows.filter((row) => row.provider === provider);
    const sum = (count: keyof Totals) => own.reduce((total, row) => total + row[count], 0);
    return {
      provider,
      accepted: sum('accepted'),
      busy: sum('busy'),
      refused: sum('refused'),
      uncertain: sum('uncertain'),
      failed: sum('failed'),
      medians: own.flatMap(({ model, median_seconds: seconds }) =>
        seconds === null ? [] : [{ model, seconds }],
      ),
    };
  });
}
