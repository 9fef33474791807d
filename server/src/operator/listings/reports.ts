import { type Queryable, query, queryFirst } from '../../database/database.ts';
import { UsageError } from '../../kernel/errors.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { REPORT_REASONS, type ReportState } from '../../reports/reports.ts';
import { listActions } from '../actions.ts';

interface ReportListing {
  id: string;
  reason: string;
  state: ReportState;
  created_at: Date;
  decided_at: Date | null;
  /** null: no video of this service was named. */
  task_id: string | null;
  /** The owner of the video. */
  account_id: string | null;
  email: string | null;
}

const COLUMNS =
  'r.id, r.reason, r.state, r.created_at, r.decided_at, r.task_id, t.account_id, a.email';

const OWNER = `left join tasks t on t.id = r.task_id
     left join accounts a on a.id = t.account_id and a.erased_at is null`;

/** A page of the reports in a state, oldest first. @param after the previous page's last id */
export const listReports = query<
  [after: string | null, limit: number, state: ReportState],
  ReportListing
>(
  'operator_reports',
  `select ${COLUMNS} from reports r ${OWNER}
   where r.state = $3 and ($1::text is null
     or (r.created_at, r.id) > (select c.created_at, c.id from reports c where c.id = $1))
   order by r.created_at, r.id limit $2`,
);

interface ReportDetails extends ReportListing {
  /** What the reporter gave; null once forgotten. */
  video: string | null;
  contact: string | null;
  evidence: string | null;
  object_id: string | null;
  /** Of the file; null: no video was found. */
  object_state: string | null;
  /** Until when the file of a taken-down video is kept as evidence; null: it is not kept. */
  evidence_until: Date | null;
  /** Other reports of the same video. */
  other_reports: number;
  now_seconds: number;
}

const read = queryFirst<[id: string], ReportDetails>(
  'operator_report',
  `select ${COLUMNS}, r.video, r.contact, r.evidence, r.object_id, o.state as object_state,
     case o.state when 'deleting' then o.evidence_until end as evidence_until,
     extract(epoch from clock_now())::float8 as now_seconds,
     (select count(*)::int from reports c where c.task_id = r.task_id and c.id <> r.id)
       as other_reports
   from reports r left join stored_objects o on o.id = r.object_id
     ${OWNER}
   where r.id = $1`,
);

const DECISIONS = 5;

/** A report with its latest decisions. @throws UsageError when there is no such report */
export async function showReport(db: Queryable, id: string) {
  const report = await read(db, id);
  if (!report) throw new UsageError(`there is no report ${JSON.stringify(id)}`);
  return { ...report, decisions: await listActions(db, { target: id, limit: DECISIONS }) };
}

/** By reason: the age of the oldest open report. */
const openReports = query<[], { reason: string; oldest_seconds: number }>(
  'figures_open_reports',
  `select reason, max(extract(epoch from clock_now() - created_at))::float8 as oldest_seconds
   from reports where state = 'open' group by reason`,
);

/** By reason: the median time to a decision in the last 30 days. */
const decidedReports = query<[], { reason: string; seconds: number }>(
  'figures_decided_reports',
  `select reason, percentile_cont(0.5) within group (
     order by extract(epoch from decided_at - created_at))::float8 as seconds
   from reports where decided_at > clock_now() - interval '30 days' group by reason`,
);

export async function reportFigures(db: Queryable) {
  const [reports, decided] = await Promise.all([openReports(db), decidedReports(db)]);
  return { reports, decided };
}

const REASON_COUNTS = REPORT_REASONS.map(
  (reason) => `count(*) filter (where kind = 'report' and reason = '${reason}')::int as ${reason}`,
);

const KINDS = [
  'kept',
  'taken_down',
  'account_closed',
  'refusals',
  'other_takedowns',
  'orders',
] as const;

const KIND_COUNTS = KINDS.map((kind) => `count(*) filter (where kind = '${kind}')::int as ${kind}`);

export const MONTH_COLUMNS = ['month', 'reports', ...REPORT_REASONS, ...KINDS, 'median_hours'];

/**
 * Months (UTC) in which something happened: reports by reason, decided reports by decision, tasks
 * whose content was refused (no test tasks), takedowns without a report, removals that a court or
 * an authority ordered (`orders`), and the median time to a decision.
 * @param from any time in the first month; null: a year ago
 * @param to any time in the last month; null: now
 */
export const reportMonths = query<[from: Date | null, to: Date | null], Record<string, unknown>>(
  'operator_report_months',
  `with events as (
     select created_at as at, 'report' as kind, reason, null::float8 as hours from reports
     union all
     select decided_at, state, reason,
       extract(epoch from decided_at - created_at)::float8 / 3600 from reports
     where decided_at is not null
     union all
     select updated_at, 'refusals', null, null from tasks
     where error_code = 'content_refused' and surface <> '${TEST_SURFACE}'
     union all
     select at, 'other_takedowns', null, null from operator_actions
     where command in ('objects take-down', 'objects takedown')
     union all
     select at, 'orders', null, null from operator_actions where details->>'basis' = 'order'),
   months as (
     select date_trunc('month', at at time zone 'UTC') as month, kind, reason, hours from events)
   select to_char(month, 'YYYY-MM') as month, count(*) filter (where kind = 'report')::int as reports,
     ${[...REASON_COUNTS, ...KIND_COUNTS].join(', ')},
     round((percentile_cont(0.5) within group (order by hours))::numeric, 1)::float8
       as median_hours
   from months
   where month >= date_trunc('month',
       coalesce($1, clock_now() - interval '1 year') at time zone 'UTC')
     and month <= date_trunc('month', coalesce($2, clock_now()) at time zone 'UTC')
   group by 1 order by 1`,
);

/**
 * A page of the files kept as evidence, the first to expire first.
 * @param after the previous page's last id
 */
export const listEvidence = query<
  [after: string | null, limit: number],
  { object_id: string; owner_id: string; role: string; evidence_until: Date }
>(
  'operator_evidence',
  `select id as object_id, owner_id, role, size_bytes::float8 as size_bytes, sha256,
     taken_down_at, evidence_until
   from stored_objects o
   where state = 'deleting' and evidence_until is not null and ($1::text is null
     or (o.evidence_until, o.id) >
       (select c.evidence_until, c.id from stored_objects c where c.id = $1))
   order by o.evidence_until, o.id limit $2`,
);
