import { type Database, statement } from '../../src/database/database.ts';
import { hasRun } from './provider-state.ts';
import { allJobs, type Simulation } from './simulation.ts';

/** A recorded orphan job, as a history leaves it. */
export interface OrphanEnd {
  job_id: string;
  state: 'suspected' | 'confirmed' | 'unknown_there';
  /** Whether an attempt has the job, so that it is not an orphan. */
  is_used: boolean;
}

const ORPHANS = statement(
  'simulation_orphans',
  `select job_id, state, exists (select from attempts a where a.job_id = o.job_id) as is_used
   from orphan_jobs o order by job_id`,
);

export function readOrphans(db: Database): Promise<OrphanEnd[]> {
  return db.query<OrphanEnd>(ORPHANS);
}

const LOST = statement(
  'simulation_lost_jobs',
  `select distinct e.attempt_id, e.finding->>'job' as job_id
   from evidence e join attempts a on a.id = e.attempt_id
     join tasks t on t.id = a.task_id and t.phase = 'failed'
   where e.source in ('sender', 'callback')
     and not exists (select from attempts other where other.job_id = e.finding->>'job')
     and not exists (select from orphan_jobs o where o.job_id = e.finding->>'job')
   order by 1, 2`,
);

/** Every job that is named for a failed task is recorded; every confirmed orphan job is one. */
export async function checkOrphans(
  simulation: Simulation,
  orphans: OrphanEnd[],
): Promise<string[]> {
  const { db, scheduler } = simulation;
  const ran = allJobs(simulation).filter((job) => hasRun(job, scheduler.nowMs()));
  const named = await db.query<{ attempt_id: string; job_id: string }>(LOST);
  const lost = named.filter(({ attempt_id, job_id }) =>
    ran.some((job) => job.id === job_id && job.attemptId === attempt_id),
  );
  const confirmed = orphans.filter(({ state }) => state === 'confirmed');
  const used = confirmed.filter(({ is_used }) => is_used);
  const unreal = confirmed.filter(({ job_id }) => !ran.some(({ id }) => id === job_id));
  return [
    ...lost.map(
      ({ job_id, attempt_id }) =>
        `${job_id}, named for ${attempt_id}, is not recorded as an orphan`,
    ),
    ...used.map(({ job_id }) => `${job_id} is not an orphan: a task uses it`),
    ...unreal.map(({ job_id }) => `${job_id} is not an orphan: it was never run`),
  ];
}
