import { quirk } from '../../../simulators/kit/faults.ts';
import type { BaseJob } from '../../../simulators/kit/record.ts';
import { type Database, statement } from '../../src/database/database.ts';
import type { Deployment } from './deployment.ts';

/** A task and its attempts as the database has them. */
export interface RecordedTask {
  id: string;
  key: string;
  phase: string;
  held_cause: string | null;
  error_code: string | null;
  announced: boolean;
  attempts: Array<{ id: string; state: string; job_id: string | null; outcome_by: string | null }>;
}

const TASKS = statement(
  'test_recorded_tasks',
  `select t.id, t.idempotency_key as key, t.phase, t.held_cause, t.error_code,
     t.announced_at is not null as announced,
     (select coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'state', a.state,
         'job_id', a.job_id, 'outcome_by', a.outcome_by) order by a.created_at), '[]')
       from attempts a where a.task_id = t.id) as attempts
   from tasks t order by t.created_at, t.id`,
);

export function recordedTasks(db: Database): Promise<RecordedTask[]> {
  return db.query<RecordedTask>(TASKS);
}

/** The jobs that the provider accepted, by the attempt in their callback address. */
export type JobsByAttempt = Map<string, BaseJob[]>;

export async function jobsByAttempt({ provider }: Deployment): Promise<JobsByAttempt> {
  const jobs = await (await provider.simulator.current()).jobs();
  return Map.groupBy(jobs, ({ callbackUrl }) => /att_\w+/.exec(callbackUrl ?? '')?.[0] ?? '');
}

export function jobsOf(task: RecordedTask, jobs: JobsByAttempt): BaseJob[] {
  return task.attempts.flatMap(({ id }) => jobs.get(id) ?? []);
}

/** Whether a callback or a list of the provider will show the job. */
function isTraceable(job: BaseJob): boolean {
  return !quirk(job, 'callback_missing') || !quirk(job, 'list_lag');
}

export function hasEnded({ phase }: RecordedTask): boolean {
  return phase === 'completed' || phase === 'failed';
}

/** Whether the task is held and only an operator can find out its outcome. */
export function isForOperator(task: RecordedTask, jobs: JobsByAttempt): boolean {
  return task.held_cause === 'acceptance' && !jobsOf(task, jobs).some(isTraceable);
}
