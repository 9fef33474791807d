import { first, namedStatement, type Queryable } from '../../database/database.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { NEWEST_TERMS } from '../../routing/terms.ts';

/** What costs can be grouped by, each with its SQL (decisions/0066). */
const GROUPS = {
  day: `to_char(t.created_at at time zone 'utc', 'YYYY-MM-DD')`,
  model: `t.request->>'model'`,
  connection: 'a.provider',
  account: 't.account_id',
};

export type CostGroup = keyof typeof GROUPS;
export const COST_GROUPS = Object.keys(GROUPS) as CostGroup[];

/** The jobs of a group's ended tasks, by currency of their cost. Amounts are in whole units. */
export interface Costs {
  /** The day (UTC, when the task was created), or the name or id of what it is grouped by. */
  group: string;
  /** null: neither the provider nor terms say what the jobs cost. */
  currency: string | null;
  tasks: number;
  /** Of completed videos. */
  seconds: number;
  /** The credits captured for completed tasks. */
  credits: number;
  cost: string | null;
  /** Tasks whose provider reported the cost, or the compute time for terms per compute second. */
  reported: number;
  /** Of these, completed tasks whose cost differs from the terms by more than a tenth. */
  differing: number;
  /** The value of the captured credits that are not promotional; null: their price is not known. */
  revenue: string | null;
  margin: string | null;
  /** The ids of the terms that the jobs were made under. */
  terms: string | null;
}

const REFERENCE_SECONDS = `(select sum(s::int) from jsonb_array_elements_text(
  coalesce(t.request->'reference_video_durations', '[]')) s)`;

/** The columns of `tasks` that {@link jobsSql} reads. */
const TASKS =
  `select id, account_id, request, phase, surface, credits, promotional_credits, job_cost,
    job_cost_currency, job_compute_seconds, provider_billed, created_at from tasks` as const;

/**
 * Each ended task that has a job, with its cost. A job that failed costs what the terms say only if
 * the provider is known to charge for it.
 */
function jobsSql(group: string, tasks = 'recent'): string {
  return `select ${group} as "group", t.phase = 'completed' as is_completed, t.credits,
       t.promotional_credits, (t.request->>'duration')::int as seconds, terms.id as terms,
       coalesce(t.job_cost_currency, terms.currency) as currency,
       coalesce(t.job_cost, case when t.phase = 'completed' or t.provider_billed
         then terms.amount when terms.id is not null then 0 end) as cost,
       t.job_cost is not null
         or (terms.is_by_time and t.job_compute_seconds is not null) as is_reported,
       t.job_cost_currency = terms.currency
         and abs(t.job_cost - terms.amount) > terms.amount / 10 as is_unlike_terms
     from ${tasks} t cross join lateral (
       select provider, created_at from attempts
       where task_id = t.id and state = 'accepted' limit 1) a
     left join lateral (
       select id, currency, per = 'compute-second' as is_by_time,
         case when per = 'compute-second' then t.job_compute_seconds * price
           when reference_price is null or reference.seconds is null
           then (t.request->>'duration')::int * price
           else ((t.request->>'duration')::int + reference.seconds) * reference_price end as amount
       from terms, lateral (select ${REFERENCE_SECONDS} as seconds) reference
       where connection = a.provider and model = t.request->>'model'
         and resolution = t.request->>'resolution' and holds_from <= a.created_at
       order by ${NEWEST_TERMS} limit 1) terms on true
     where t.phase in ('completed', 'failed') and t.surface <> '${TEST_SURFACE}'`;
}

/** Adds up the jobs of each group and currency; those of unknown cost have no currency. */
const SUMS = `groups as (
       select "group", case when cost is not null then currency end as currency,
         count(*)::int as tasks,
         coalesce(sum(seconds) filter (where is_completed), 0)::int8 as seconds,
         coalesce(sum(credits) filter (where is_completed), 0)::int8 as credits,
         coalesce(sum(credits - promotional_credits) filter (where is_completed), 0) as sold,
         sum(cost) as cost, (count(*) filter (where is_reported))::int as reported,
         (count(*) filter (where is_completed and is_unlike_terms))::int as differing,
         array_to_string(array_agg(distinct terms order by terms), ' ') as terms
       from jobs group by 1, 2)
     select "group", currency, tasks, seconds, credits, trim_scale(cost)::text as cost, reported,
       differing, trim_scale(round(sold * price, 6))::text as revenue,
       trim_scale(round(sold * price - cost, 6))::text as margin, nullif(terms, '') as terms
     from groups left join unnest(:currencies::text[], :prices::numeric[]) as p (currency, price)
       using (currency)` as const;

const statements = Object.fromEntries(COST_GROUPS.map((by) => [by, costsBy(by)])) as Record<
  CostGroup,
  ReturnType<typeof costsBy>
>;

function costsBy(by: CostGroup) {
  return namedStatement(
    `costs_by_${by}`,
    `with recent as (${TASKS}
       where created_at >= coalesce(:from::timestamptz,
         date_trunc('day', coalesce(:until::timestamptz, clock_now()), 'utc')
           - (:days::int - 1) * interval '1 day')
       and created_at < coalesce(:until::timestamptz, 'infinity')
       order by created_at desc limit :taskLimit::int),
     jobs as (${jobsSql(GROUPS[by])}),
     ${SUMS} order by ${by === 'day' ? '' : 'tasks desc, '}"group" desc, currency
     limit :limit::int`,
  );
}

const OF_TASK = namedStatement(
  'costs_of_task',
  `with jobs as (${jobsSql(GROUPS.connection, 'tasks')} and t.id = :taskId), ${SUMS}`,
);

/** A task's costs, by connection. undefined: it has not ended, had no job, or is a test. */
export function costOfTask(
  db: Queryable,
  taskId: string,
  creditPrices: ReadonlyMap<string, number>,
): Promise<Costs | undefined> {
  return first<Costs>(db, OF_TASK, OF_TASK.values({ taskId, ...arraysOf(creditPrices) }));
}

/** The tasks are a bounded number, because every scrape reads them. */
const NEWEST_COSTS = namedStatement(
  'costs_newest',
  `with recent as (${TASKS}
     where created_at > clock_now() - interval '1 day' order by created_at desc limit 1000),
   jobs as (${jobsSql(`jsonb_build_object('provider', a.provider, 'model', t.request->>'model')`)}),
   ${SUMS}`,
);

/** Margins, and how many costs differ from the terms, of the last day's newest thousand tasks. */
export async function newestCosts(db: Queryable, creditPrices: ReadonlyMap<string, number>) {
  const values = NEWEST_COSTS.values(arraysOf(creditPrices));
  type Row = Omit<Costs, 'group'> & { group: { provider: string; model: string } };
  const rows = await db.query<Row>(NEWEST_COSTS, values);
  return {
    margins: rows.flatMap(({ group, currency, margin }) =>
      margin === null ? [] : [{ ...group, currency, margin: Number(margin) }],
    ),
    differing: rows.flatMap(({ group, currency, reported, differing }) =>
      reported === 0 ? [] : [{ ...group, currency, tasks: differing }],
    ),
  };
}

function arraysOf(creditPrices: ReadonlyMap<string, number>) {
  return { currencies: [...creditPrices.keys()], prices: [...creditPrices.values()] };
}

export function listCosts(
  db: Queryable,
  {
    per,
    from = null,
    until = null,
    days,
    limit = null,
    taskLimit = null,
    creditPrices,
  }: {
    per: CostGroup;
    from?: Date | undefined | null;
    /** Exclusive. */
    until?: Date | undefined | null;
    /** How many days (UTC) the period has if `from` is missing. It ends at `until`, or today. */
    days: number;
    /** The most rows: the newest days, or the groups with the most tasks. */
    limit?: number | undefined | null;
    /** The most tasks that are read: the newest. */
    taskLimit?: number | undefined | null;
    /** What a credit is worth, by currency. */
    creditPrices: ReadonlyMap<string, number>;
  },
): Promise<Costs[]> {
  const sql = statements[per];
  const period = { from, until, days, limit, taskLimit };
  return db.query<Costs>(sql, sql.values({ ...period, ...arraysOf(creditPrices) }));
}
