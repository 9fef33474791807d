import {
  command,
  type Database,
  namedStatement,
  queryFirst,
  statement,
  whether,
} from '../../database/database.ts';
import type { OwnJobs } from '../definition.ts';
import type { JobSpec } from '../provider.ts';

export interface LocalJob {
  id: string;
  state: 'barred' | 'queued' | 'rendering' | 'succeeded' | 'failed';
  spec: JobSpec;
  renders: number;
  object_id: string | null;
  cause: string | null;
}

/** If a lease is not renewed for this long, any process may start the render again. */
export const RENDER_LEASE_SECONDS = 10;

const ADD = statement(
  'local_job_add',
  `insert into local_jobs (id, spec) values ($1, $2) on conflict (id) do nothing`,
);
const BAR = statement(
  'local_job_bar',
  `insert into local_jobs (id, spec, state) values ($1, '{}', 'barred')
   on conflict (id) do nothing`,
);
export const readJob = queryFirst<[id: string], LocalJob>(
  'local_job_read',
  'select id, state, spec, renders, object_id, cause from local_jobs where id = $1',
);
/** Takes the oldest job that waits or whose lease has expired, if there is one. */
export const takeJob = queryFirst<[], LocalJob>(
  'local_job_take',
  `update local_jobs set state = 'rendering', renders = renders + 1, updated_at = clock_now(),
     leased_until = clock_now() + interval '${RENDER_LEASE_SECONDS} seconds'
   where id = (
     select id from local_jobs
     where state = 'queued' or (state = 'rendering' and leased_until < clock_now())
     order by created_at for update skip locked limit 1)
   returning id, state, spec, renders, object_id, cause`,
);
const RENEW = statement(
  'local_job_renew',
  `update local_jobs set leased_until = clock_now() + interval '${RENDER_LEASE_SECONDS} seconds'
   where id = $1 and renders = $2 and state = 'rendering'`,
);
const LOSE = statement(
  'local_job_lose',
  `update local_jobs set state = 'failed', cause = $2 where id = $1 and state = 'succeeded'`,
);
const FINISH = namedStatement(
  'local_job_finish',
  ['id', 'renders', 'state', 'objectId', 'cause'],
  `update local_jobs set state = :state, object_id = :objectId, cause = :cause,
     leased_until = null, updated_at = clock_now()
   where id = :id and renders = :renders and state = 'rendering' returning id`,
);

/**
 * Adds a job, unless there is one with its id.
 * @returns the job with that id
 */
export async function addJob(db: Database, jobSpec: JobSpec): Promise<LocalJob | undefined> {
  await db.query(ADD, [jobSpec.attemptId, JSON.stringify(jobSpec)]);
  return readJob(db, jobSpec.attemptId);
}

/** Reads a job. If there is none, bars its id, so that no job with it can be added later. */
export async function readOrBar(db: Database, id: string): Promise<LocalJob | undefined> {
  await db.query(BAR, [id]);
  return readJob(db, id);
}

export async function renewJob(db: Database, job: LocalJob): Promise<void> {
  await db.query(RENEW, [job.id, job.renders]);
}

/**
 * Ends a job that waits or is rendered; the result of a render under way is not used.
 * @returns false if there is no such job, or it has ended
 */
export const cancelJob = whether<[id: string]>(
  'local_job_cancel',
  `update local_jobs set state = 'failed', cause = 'cancelled', updated_at = clock_now()
   where id = $1 and state in ('queued', 'rendering') returning id`,
);

/** The cause of a failed job whose finished render was deleted. */
export const RENDER_GONE = 'the render is gone';

/** Records that a finished render was deleted. */
export async function loseRender(db: Database, id: string): Promise<void> {
  await db.query(LOSE, [id, RENDER_GONE]);
}

/**
 * Ends this render of a job; `queued` puts the job back in the queue.
 * @returns false if another process has started the job again meanwhile
 */
export async function finishJob(
  db: Database,
  job: LocalJob,
  end: { state: 'succeeded' | 'failed' | 'queued'; objectId?: string; cause?: string },
): Promise<boolean> {
  const { id, renders } = job;
  const { state, objectId = null, cause = null } = end;
  const values = FINISH.values({ id, renders, state, objectId, cause });
  return (await db.query(FINISH, values)).length === 1;
}

export const OWN_JOBS: OwnJobs = {
  isRunning: (attemptIds) => `exists (select from local_jobs j
     where j.id = any(${attemptIds}) and j.state in ('queued', 'rendering'))`,
  deleteOf: command('local_job_delete', 'delete from local_jobs where id = any($1)'),
  eraseOf: command('local_job_erase', `update local_jobs set spec = '{}' where id = any($1)`),
};
