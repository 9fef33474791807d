import { type Queryable, statement } from '../database/database.ts';
import { POOL } from '../tasks/claim.ts';
import { FREE, NOW } from '../tasks/lease.ts';
import { IS_ALIVE } from '../tasks/live-workers.ts';
import { type UnservedTasks, unservedTasks } from './unserved.ts';

/** Figures about all tasks, for metrics. Ages are in seconds. */
export interface Figures {
  live: { phase: string; tasks: number; credits: number; oldest_seconds: number }[];
  held: { cause: string; tasks: number; credits: number; oldest_seconds: number }[];
  reconciled: { by: string; result: string; attempts: number }[];
  orphans: { provider: string; state: string; jobs: number }[];
  losses: { provider: string; tasks: number; credits: number }[];
  closed: { subject: string; cause: string; seconds: number }[];
  unserved: UnservedTasks[];
  due: { pool: string; tasks: number; oldest_seconds: number }[];
  workers: { provider: string; workers: number }[];
  deleting: { role: string; objects: number }[];
  /** Of the last week, without those whose payment was refunded. */
  mismatched: { kind: string; orders: number }[];
}

const LIVE = statement(
  'figures_live',
  `select phase, count(*)::int as tasks, sum(credits)::int8 as credits,
     max(extract(epoch from clock_now() - updated_at))::float8 as oldest_seconds
   from tasks where due_at is not null group by phase`,
);

// The age counts from the first time that the task was held, because each retry to fetch an output
// moves the task out of `held` for a short time.
const HELD = statement(
  'figures_held',
  `select held_cause as cause, count(*)::int as tasks, sum(credits)::int8 as credits,
     max(extract(epoch from clock_now() - coalesce(
       (select min(at) from task_history h where h.task_id = tasks.id and h.phase = 'held'),
       updated_at)))::float8 as oldest_seconds
   from tasks where phase = 'held' group by held_cause`,
);

const RECONCILED = statement(
  'figures_reconciled',
  `select outcome_by as by, state as result, count(*)::int as attempts from attempts
   where outcome_by in ('find', 'callback') and state in ('accepted', 'absent')
   group by outcome_by, state
   union all
   select outcome_by, state, count(*)::int from attempts
   where outcome_by = 'assumption' group by outcome_by, state
   union all
   select source, finding->'decision'->>'kind', count(*)::int from evidence
   where source = 'operator' group by 1, 2`,
);

const ORPHANS = statement(
  'figures_orphans',
  `select provider, state, count(*)::int as jobs from orphan_jobs
   where acknowledged_at is null group by provider, state`,
);

const LOSSES = statement(
  'figures_losses',
  `select provider, count(*)::int as tasks, sum(credits)::int8 as credits from tasks
   where provider_billed and phase = 'failed' group by provider`,
);

// A minute after its time is over, no task has tried: whether the outage has ended is not known.
const CLOSED = statement(
  'figures_closed',
  `select provider as subject, 'outage' as cause,
     extract(epoch from clock_now() - closed_since)::float8 as seconds
   from provider_outages where closed_until > clock_now() - interval '1 minute'
   union all
   select subject, 'operator', extract(epoch from clock_now() - paused_at)::float8 from pauses
   union all
   select 'tasks', 'recovery', extract(epoch from clock_now() - began_at)::float8
   from recoveries where ended_at is null`,
);

const DUE = statement(
  'figures_due',
  `select ${POOL} as pool, count(*)::int as tasks,
     max(extract(epoch from clock_now() - due_at))::float8 as oldest_seconds
   from tasks where due_at is not null and due_at <= ${NOW} and ${FREE} group by 1`,
);

const WORKERS = statement(
  'figures_workers',
  `select provider, count(*)::int as workers from workers, unnest(providers) as provider
   where ${IS_ALIVE} group by provider`,
);

const DELETING = statement(
  'figures_deleting',
  `select role, count(*)::int as objects from objects where state = 'deleting' group by role`,
);

// A mismatched order stays so. After a week, or when its payment was refunded, it is an old matter.
const MISMATCHED = statement(
  'figures_mismatched',
  `select kind, count(*)::int as orders from orders
   where state = 'mismatched' and settled_at > clock_now() - interval '7 days'
     and (coalesce(amount, 0) = 0 or refunded < amount) group by kind`,
);

/**
 * Reads the figures as they are now. This is cheap, because the indexes that the statements use
 * contain only live tasks and rare rows.
 */
export async function readFigures(db: Queryable): Promise<Figures> {
  const [live, held, reconciled, orphans, losses, closed, unserved, ...rest] = await Promise.all([
    db.query<Figures['live'][number]>(LIVE),
    db.query<Figures['held'][number]>(HELD),
    db.query<Figures['reconciled'][number]>(RECONCILED),
    db.query<Figures['orphans'][number]>(ORPHANS),
    db.query<Figures['losses'][number]>(LOSSES),
    db.query<Figures['closed'][number]>(CLOSED),
    unservedTasks(db),
    db.query<Figures['due'][number]>(DUE),
    db.query<Figures['workers'][number]>(WORKERS),
    db.query<Figures['deleting'][number]>(DELETING),
    db.query<Figures['mismatched'][number]>(MISMATCHED),
  ]);
  const tasks = { live, held, reconciled, orphans, losses, closed, unserved };
  const [due, workers, deleting, mismatched] = rest;
  return { ...tasks, due, workers, deleting, mismatched };
}
