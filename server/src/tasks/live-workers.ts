import {
  command,
  type Database,
  namedStatement,
  type Queryable,
  statement,
} from '../database/database.ts';
import { POOL } from './claim.ts';
import { NOW } from './lease.ts';

/** A worker that was not seen for this long is dead. It reports six times in this time. */
const DEAD_AFTER_SECONDS = 30;
export const REPORT_SECONDS = 5;

/** A condition on `workers`: the worker runs. */
export const IS_ALIVE = `seen_at > ${NOW} - interval '${DEAD_AFTER_SECONDS} seconds'`;

/** A condition on `tasks`: no running worker has the task's provider. */
const IS_UNSERVED = `not exists (select from workers
     where ${IS_ALIVE} and tasks.provider = any(workers.providers))`;

const REPORT = namedStatement(
  'worker_report',
  ['id', 'providers', 'ingestPlaces'],
  `with forgotten as (delete from workers where seen_at < ${NOW} - interval '1 day')
   insert into workers as w (id, providers, ingest_places, seen_at)
   values (:id, :providers, :ingestPlaces, clock_now())
   on conflict (id) do update set seen_at = excluded.seen_at`,
);

const INGEST_PLACES = statement(
  'worker_ingest_places',
  `select coalesce(sum(ingest_places), 0)::int as places from workers where ${IS_ALIVE}`,
);

const UNSERVED = statement(
  'worker_unserved_providers',
  `select distinct provider from tasks
   where ${POOL} in ('submit', 'ingest') and due_at is not null and ${IS_UNSERVED}`,
);

/** Live tasks of a provider that no running worker has. */
interface UnservedTasks {
  provider: string;
  tasks: number;
}

const UNSERVED_TASKS = statement(
  'tasks_unserved',
  `select provider, count(*)::int as tasks from tasks
   where due_at is not null and provider <> all($1) and ${IS_UNSERVED}
   group by provider order by provider`,
);

/** The live tasks that no running worker can work on, besides those of the given providers. */
export function unservedTasks(db: Queryable, providers: string[] = []): Promise<UnservedTasks[]> {
  return db.query(UNSERVED_TASKS, [providers]);
}

/** Reports that this worker claims nothing more. */
export const reportGone = command<[workerId: string]>(
  'worker_gone',
  'delete from workers where id = $1',
);

/** What a worker needs to know of the other workers. */
export type Fleet = Awaited<ReturnType<typeof reportAlive>>;

/** Reports that this worker runs, and reads what all running workers have. */
export async function reportAlive(
  db: Database,
  worker: { id: string; providers: string[]; ingestPlaces: number },
) {
  await db.query(REPORT, REPORT.values(worker));
  const [fleet] = await db.query<{ places: number }>(INGEST_PLACES);
  const unserved = await db.query<{ provider: string }>(UNSERVED);
  return {
    /** How many tasks all running workers together ingest at a time. */
    ingestPlaces: fleet?.places ?? 0,
    /** Providers of tasks before their submit that no running worker has. */
    unservedProviders: unserved.map(({ provider }) => provider),
  };
}
