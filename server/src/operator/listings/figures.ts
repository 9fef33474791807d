import { mismatchedOrders } from '../../billing/credit-order.ts';
import { creditPrices } from '../../billing/credit-price.ts';
import { type Queryable, query } from '../../database/database.ts';
import { recoverySeconds } from '../../database/lineage.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { closedSubjects } from '../../providers/circuit-breaker/breaker.ts';
import { TEST_PROVIDER } from '../../providers/test-provider.ts';
import { deletingObjects } from '../../storage/removal.ts';
import { NOW, UNLEASED } from '../../tasks/lease.ts';
import { HELD_SINCE } from '../../tasks/task-listing.ts';
import { webhookFigures } from '../../webhooks/claim.ts';
import { POOL } from '../../worker/claim.ts';
import { IS_ALIVE, unservedTasks } from '../../worker/live-workers.ts';

import { newestCosts } from './costs.ts';
import { reportFigures } from './reports.ts';

/** Excludes test tasks, whose credits are worth nothing. */
const IS_NOT_TEST = `surface <> '${TEST_SURFACE}'`;

export const readLive = query<
  [],
  { phase: string; tasks: number; credits: number; oldest_seconds: number }
>(
  'figures_live',
  `select phase, count(*)::int as tasks,
     coalesce(sum(credits) filter (where ${IS_NOT_TEST}), 0)::int8 as credits,
     max(extract(epoch from clock_now() - updated_at))::float8 as oldest_seconds
   from tasks where due_at is not null group by phase`,
);

// The age counts from the first hold. Test tasks, held because their prompts ask for it, are not
// counted.
const readHeld = query<
  [],
  { cause: string; tasks: number; credits: number; oldest_seconds: number }
>(
  'figures_held',
  `select held_cause as cause, count(*)::int as tasks, sum(credits)::int8 as credits,
     max(extract(epoch from clock_now() - ${HELD_SINCE}))::float8 as oldest_seconds
   from tasks where phase = 'held' and ${IS_NOT_TEST} group by held_cause`,
);

// Outcomes that finds and callbacks proved, that were finally assumed, or that operators decided.
const readReconciled = query<[], { by: string; result: string; attempts: number }>(
  'figures_reconciled',
  `select outcome_by as by, state as result, count(*)::int as attempts from attempts
   where outcome_by in ('find', 'callback') and state in ('accepted', 'absent')
     and provider <> '${TEST_PROVIDER}'
   group by outcome_by, state
   union all
   select outcome_by, state, count(*)::int from attempts
   where outcome_by = 'assumption' group by outcome_by, state
   union all
   select source, finding->'decision'->>'kind', count(*)::int from evidence
   where source = 'operator' group by 1, 2`,
);

const readOrphans = query<[], { provider: string; state: string; jobs: number }>(
  'figures_orphans',
  `select provider, state, count(*)::int as jobs from orphan_jobs
   where acknowledged_at is null group by provider, state`,
);

const readBilledFailures = query<[], { provider: string; tasks: number; credits: number }>(
  'figures_losses',
  `select provider, count(*)::int as tasks, sum(credits)::int8 as credits from tasks
   where provider_billed and phase = 'failed' and ${IS_NOT_TEST} group by provider`,
);

export const readDue = query<[], { pool: string; tasks: number; oldest_seconds: number }>(
  'figures_due',
  `select ${POOL} as pool, count(*)::int as tasks,
     max(extract(epoch from clock_now() - due_at))::float8 as oldest_seconds
   from tasks where due_at is not null and due_at <= ${NOW} and ${UNLEASED} group by 1`,
);

const readWorkers = query<[], { provider: string; workers: number }>(
  'figures_workers',
  `select provider, count(*)::int as workers from workers, unnest(providers) as provider
   where ${IS_ALIVE} group by provider`,
);

/** Ages are in seconds. Cheap: the indexes that it reads have only live tasks and rare rows. */
export async function readTaskFigures(db: Queryable) {
  const [live, held, reconciled, orphans, billedFailures, unserved, due, workers] =
    await Promise.all([
      readLive(db),
      readHeld(db),
      readReconciled(db),
      readOrphans(db),
      readBilledFailures(db),
      unservedTasks(db, []),
      readDue(db),
      readWorkers(db),
    ]);
  return { live, held, reconciled, orphans, billedFailures, unserved, due, workers };
}

export type Figures = Awaited<ReturnType<typeof readFigures>>;

export async function readFigures(db: Queryable) {
  const [tasks, closed, recovery, deleting, mismatched, webhooks, reports, costs] =
    await Promise.all([
      readTaskFigures(db),
      closedSubjects(db),
      recoverySeconds(db),
      deletingObjects(db),
      mismatchedOrders(db),
      webhookFigures(db),
      reportFigures(db),
      creditPrices(db).then((prices) => newestCosts(db, prices)),
    ]);
  const recoveries =
    recovery === undefined ? [] : [{ subject: 'tasks', cause: 'recovery', seconds: recovery }];
  const others = { ...tasks, ...reports, ...costs };
  return { ...others, closed: [...closed, ...recoveries], deleting, mismatched, webhooks };
}
