import {
  command,
  type Database,
  namedStatement,
  query,
  queryColumn,
  queryFirst,
} from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { neededVariables } from '../providers/registry.ts';
import { NOW } from '../tasks/lease.ts';
import { POOL, type WorkerPool } from './claim.ts';

/** A worker that missed six reports counts as dead. */
const DEAD_AFTER_SECONDS = 30;
export const REPORT_SECONDS = 5;

/** A condition on `workers`: the worker runs. */
export const IS_ALIVE = `seen_at > ${NOW} - interval '${DEAD_AFTER_SECONDS} seconds'`;

/** A condition on `tasks`: no running worker has the task's provider. */
const IS_UNSERVED = `not exists (select from workers
     where ${IS_ALIVE} and tasks.provider = any(workers.providers))`;

const REPORT = namedStatement(
  'worker_report',
  `with forgotten as (delete from workers where seen_at < ${NOW} - interval '1 day')
   insert into workers as w (id, providers, ingest_places, seen_at)
   values (:id, :providers, :ingestSlots, clock_now())
   on conflict (id) do update set seen_at = excluded.seen_at`,
);

const readFleet = queryFirst<[], Fleet>(
  'worker_fleet',
  `select
     (select coalesce(sum(ingest_places), 0)::int from workers where ${IS_ALIVE}) as "ingestSlots",
     array(
       select distinct provider from tasks
       where ${POOL} in ('submit', 'ingest') and due_at is not null and ${IS_UNSERVED}
     ) as "unservedProviders"`,
);

interface Unserved {
  provider: string;
  tasks: number;
  /** The ids of at most three of the tasks. */
  some: string[];
}

/** The live tasks that no running worker can serve, except those of the given providers. */
export const unservedTasks = query<[except: string[]], Unserved>(
  'tasks_unserved',
  `select provider, count(*)::int as tasks, (array_agg(id order by id))[1:3] as some from tasks
   where due_at is not null and provider <> all($1) and ${IS_UNSERVED}
   group by provider order by provider`,
);

/** The connections that a running worker has. */
export const runningConnections = queryColumn<[], string>(
  'worker_connections',
  `select distinct unnest(providers) from workers where ${IS_ALIVE} order by 1`,
);

/** Reports that this worker claims nothing more. */
export const reportGone = command<[workerId: string]>(
  'worker_gone',
  'delete from workers where id = $1',
);

export interface Fleet {
  ingestSlots: number;
  /** Providers that no running worker has, of tasks not yet submitted. */
  unservedProviders: string[];
}

export async function reportAlive(
  db: Database,
  worker: { id: string; providers: string[]; ingestSlots: number },
): Promise<Fleet> {
  await db.query(REPORT, REPORT.values(worker));
  return (await readFleet(db)) ?? { ingestSlots: 0, unservedProviders: [] };
}

/**
 * A provider is unserved once it has been without a running worker for this long. Until then, a
 * worker that has it may still be starting.
 */
const UNSERVED_AFTER_SECONDS = 60;

/**
 * The share of one account in the ingest slots of all workers, so that the slow hosts of a few
 * accounts leave slots for the others.
 */
const SHARE_OF_ACCOUNT = 1 / 8;

/** @param monotonic milliseconds by a clock of this process that never goes back */
export function createClaimRules(options: {
  providers: string[];
  ingestSlots: number;
  monotonic(): number;
}) {
  const { providers: own, monotonic } = options;
  const unservedSince = new Map<string, number>();
  let { ingestSlots } = options;
  const unserved = () =>
    [...unservedSince]
      .filter(([, since]) => monotonic() - since >= UNSERVED_AFTER_SECONDS * 1000)
      .map(([provider]) => provider);
  return {
    update(fleet: Fleet) {
      ingestSlots = Math.max(options.ingestSlots, fleet.ingestSlots);
      for (const provider of unservedSince.keys()) {
        if (!fleet.unservedProviders.includes(provider)) unservedSince.delete(provider);
      }
      for (const provider of fleet.unservedProviders) {
        if (!unservedSince.has(provider)) unservedSince.set(provider, monotonic());
      }
    },
    /**
     * The providers whose tasks a pool claims: this worker's own and, for tasks not yet submitted,
     * those that no worker has. The submit step ends these tasks as not accepted.
     */
    providers(pool: WorkerPool) {
      return pool === 'submit' || pool === 'ingest' ? [...own, ...unserved()] : own;
    },
    /** How many tasks of one account may fetch files at once, across all processes. */
    accountLimit: () => Math.max(1, Math.floor(ingestSlots * SHARE_OF_ACCOUNT)),
  };
}

/**
 * Warns of live tasks whose provider neither this process nor a running worker has.
 * @throws UsageError, one line, if CONNECTIONS has lost a connection with live tasks
 */
export async function checkUnserved(
  providers: ReadonlyMap<string, unknown>,
  { db, log }: { db: Database; log: Log },
): Promise<void> {
  for (const { provider, tasks, some } of await unservedTasks(db, [...providers.keys()])) {
    const [needed] = neededVariables(provider);
    if (!needed) {
      throw new UsageError(
        `${provider} has ${tasks} live tasks (${some.join(', ')}), but no running worker has it: ` +
          'name it in CONNECTIONS, with its variables, until they have ended',
      );
    }
    const why = `no running worker has: set ${needed.variable}`;
    log.warn({ provider, tasks }, `live tasks were given to ${provider}, which ${why}`);
  }
}
