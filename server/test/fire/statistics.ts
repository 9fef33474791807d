import { type Database, statement } from '../../src/database/database.ts';
import type { Load } from './clients.ts';
import type { Deployment } from './deployment.ts';

const STATISTICS = statement(
  'test_fire_statistics',
  `select (select count(*) from tasks)::int as tasks,
     (select count(distinct task_id) from task_history where phase = 'held')::int as held,
     (select coalesce(jsonb_object_agg(by, times), '{}') from
       (select outcome_by as by, count(*)::int as times from attempts a
        where exists (select from task_history h where h.task_id = a.task_id and h.phase = 'held')
        group by 1) as r) as held_outcomes_by,
     (select coalesce(jsonb_object_agg(by, times), '{}') from
       (select outcome_by as by, count(*)::int as times from attempts group by 1) as r)
       as attempt_outcomes_by,
     (select coalesce(jsonb_object_agg(state, times), '{}') from
       (select state, count(*)::int as times from orphan_jobs group by 1) as o) as orphans,
     (select coalesce(jsonb_object_agg(error_code, times), '{}') from
       (select error_code, count(*)::int as times from tasks where phase = 'failed'
        group by 1) as f) as failures`,
);

/** What became of the tasks, attempts and jobs of a run, counted. */
export interface FireStatistics {
  tasks: number;
  held: number;
  held_outcomes_by: Record<string, number>;
  attempt_outcomes_by: Record<string, number>;
  orphans: Record<string, number>;
  failures: Record<string, number>;
}

export async function readStatistics(db: Database): Promise<FireStatistics> {
  const [statistics] = await db.query<FireStatistics>(STATISTICS);
  if (!statistics) throw new Error('there are no statistics');
  return statistics;
}

/** One line with everything that happened in a run. */
export async function describeRun(
  deployment: Deployment,
  load: Load,
  statistics: FireStatistics,
): Promise<string> {
  const { api, workers, provider, database, disk } = deployment;
  const jobs = await (await provider.simulator.current()).jobs();
  const kills = {
    worker: workers.reduce((sum, worker) => sum + worker.kills, 0),
    api: api.kills,
    simulator: provider.simulator.kills,
  };
  const failedStarts = [api, ...workers].reduce(
    (sum, simulator) => sum + simulator.failedStarts.length,
    0,
  );
  const line = {
    requests: load.observations.size,
    jobs: jobs.length,
    kills,
    failedStarts,
    databaseRestarts: database.restarts,
    disk: disk.excuse ?? 'filled',
    faults: provider.faultsDrawn(),
    statuses: Object.fromEntries(load.statuses),
    ...statistics,
  };
  return JSON.stringify(line).replaceAll('"', '');
}
