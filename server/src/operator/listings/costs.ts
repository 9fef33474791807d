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

/** A group's jobs of ended tasks that cost one currency. Amounts are decimals, in whole units. */
export interface Costs {
  /** The day (UTC, when the task was created), or the name or id of what it is grouped by. */
  group: string;
  /** null: no cost was reported, and no terms apply. */
  currency: string | null;
  tasks: number;
  /** Of completed videos. */
  seconds: number;
  /** Captured: of completed tasks. */
  credits: number;
  cost: string | null;
  /** Tasks whose cost the provider reported. */
  reported: number;
  /** Of these, completed tasks whose cost differs from the terms by more than a tenth. */
  differing: number;
  /** What the captured credits that were not promotional are worth; null: their price is not known. */
  revenue: string | null;
  margin: string | null;
}

const REFERENCE_SECONDS = `(select sum(s::int) from jsonb_array_elements_text(
  coalesce(t.request->'reference_video_durations', '[]')) s)`;

/**
 * Each ended task that has a job, with its cost. A job that failed costs what the terms say only if
 * the provider is known to charge for it.
 */
function jobs(group: string, tasks = 'tasks'): string {
  return `select ${group} as "group", t.phase = 'completed' as is_completed, t.credits,
       t.promotional_credits, (t.request->>'duration')::int as seconds, t.job_cost,
       terms.amount as by_terms, coalesce(t.job_cost_currency, terms.currency) as currency,
       coalesce(t.job_cost, case when t.phase = 'completed' or t.provider_billed
         then terms.amount when terms.amount is not null then 0 end) as cost,
       t.job_cost_currency = terms.currency as is_comparable
     from ${tasks} t cross join lateral (
       select provider, created_at from attempts
       where task_id = t.id and state = 'accepted' limit 1) a
     left join lateral (
       select currency, case when reference_price is null or reference.seconds is null
           then (t.request->>'duration')::int * price
           else ((t.request->>'duration')::int + reference.seconds) * reference_price end as amount
       from terms, lateral (select ${REFERENCE_SECONDS} as seconds) reference
       where connection = a.provider and model = t.request->>'model'
         and resolution = t.request->>'resolution' and holds_from <= a.created_at
       order by ${NEWEST_TERMS} limit 1) terms on true
     where t.phase in ('completed', 'failed') and t.surface <> '${TEST_SURFACE}'`;
}

/** Adds up the jobs of each group and currency. */
const SUMS = `groups as (
       select "group", currency, count(*)::int as tasks,
         coalesce(sum(seconds) filter (where is_completed), 0)::int8 as seconds,
         coalesce(sum(credits) filter (where is_completed), 0)::int8 as credits,
         coalesce(sum(credits - promotional_credits) filter (where is_completed), 0) as sold,
         sum(cost) as cost, count(job_cost)::int as reported,
         (count(*) filter (where is_completed and is_comparable
           and abs(job_cost - by_terms) > by_terms / 10))::int as differing
       from jobs group by "group", currency)
     select "group", currency, tasks, seconds, credits, trim_scale(cost)::text as cost, reported,
       differing, trim_scale(round(sold * price, 6))::text as revenue,
       trim_scale(round(sold * price - cost, 6))::text as margin
     from groups left join unnest(:currencies::text[], :prices::numeric[]) as p (currency, price)
       using (currency)
     order by "group", currency` as const;

const statements = Object.fromEntries(COST_GROUPS.map((by) => [by, costsBy(by)])) as Record<
  CostGroup,
  ReturnType<typeof costsBy>
>;

function costsBy(by: CostGroup) {
  return namedStatement(
    `costs_by_${by}`,
    `with jobs as (${jobs(GROUPS[by])}
       and t.created_at >= coalesce(:from::timestamptz,
         clock_now() - :days::float8 * interval '1 day')
       and t.created_at < coalesce(:until::timestamptz, 'infinity')),
     ${SUMS}`,
  );
}

const OF_TASK = namedStatement(
  'costs_of_task',
  `with jobs as (${jobs(GROUPS.connection)} and t.id = :taskId), ${SUMS}`,
);

/** A task's costs, by connection. undefined: it has not ended, had no job, or is a test. */
export function costOfTask(
  db: Queryable,
  taskId: string,
  creditPrices: ReadonlyMap<string, number>,
): Promise<Costs | undefined> {
  return first<Costs>(db, OF_TASK, OF_TASK.values({ taskId, ...arraysOf(creditPrices) }));
}

/** The newest tasks of the last day: a bounded number, because every scrape reads them. */
const NEWEST = `(
  select id, request, phase, surface, credits, promotional_credits, job_cost, job_cost_currency,
    provider_billed, created_at from tasks
  where created_at > clock_now() - interval '1 day' order by created_at desc limit 1000)`;

const NEWEST_COSTS = namedStatement(
  'costs_newest',
  `with jobs as (
     ${jobs(`jsonb_build_object('provider', a.provider, 'model', t.request->>'model')`, NEWEST)}),
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
    creditPrices,
  }: {
    per: CostGroup;
    from?: Date | undefined | null;
    /** Exclusive. */
    until?: Date | undefined | null;
    /** Without `from`, the period begins so many days ago. */
    days: number;
    /** What a credit is worth, by currency. */
    creditPrices: ReadonlyMap<string, number>;
  },
): Promise<Costs[]> {
  const sql = statements[per];
  return db.query<Costs>(sql, sql.values({ from, until, days, ...arraysOf(creditPrices) }));
}
