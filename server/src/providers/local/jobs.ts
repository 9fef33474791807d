import {
  command,
  type Database,
  namedStatement,
  queryFirst,
  statement,
  whether,
} from '../../database/database.ts';
import type { OwnJobs } from '../definition.ts';
import type { CancelOutcome, FindOutcome, JobSpec, JobStatus, SubmitOutcome } from '../provider.ts';

/** A job of a built-in provider. It has the id of its attempt. */
export interface LocalJob {
  id: string;
  /** `barred`: there is no job, and none can be added any more. */
  state: 'barred' | 'queued' | 'rendering' | 'succeeded' | 'failed';
  spec: JobSpec;
  /** How often a process has taken it to render; a fencing token. */
  renders: number;
  object_id: string | null;
  cause: string | null;
}

const ADD = namedStatement(
  'local_job_add',
  `insert into local_jobs (id, spec, state, ends_at) values
     (:id, :spec, :state, clock_now() + :afterSeconds::float8 * interval '1 second')
   on conflict (id) do nothing`,
);
const BAR = statement(
  'local_job_bar',
  `insert into local_jobs (id, spec, state) values ($1, '{}', 'barred')
   on conflict (id) do nothing`,
);
// A test key's job has its final state from the start, and counts as rendering until `ends_at`.
export const readJob = queryFirst<[id: string], LocalJob>(
  'local_job_read',
  `select id, case when ends_at > clock_now() then 'rendering' else state end as state, spec,
     renders, object_id, cause from local_jobs where id = $1`,
);
// A job that was cancelled before counts too: a cancel may be repeated.
const cancelJob = whether<[id: string]>(
  'local_job_cancel',
  `update local_jobs
   set state = 'failed', cause = 'cancelled', ends_at = null
   where id = $1 and (state in ('queued', 'rendering') or ends_at > clock_now()
     or cause = 'cancelled') returning id`,
);

/** The outcome of a submit when its time to send is over. */
export const TOO_LATE = { kind: 'not_sent', cause: 'the time to send was over' } as const;

/**
 * Adds a job, unless there is one with its id, or its attempt was barred.
 * @param end how a test key's job will end; undefined: the job is rendered
 */
export async function submitJob(
  db: Database,
  jobSpec: JobSpec,
  mayStillSend: () => boolean,
  end?: { state: 'succeeded' | 'failed'; afterSeconds: number },
): Promise<SubmitOutcome> {
  if (!mayStillSend()) return TOO_LATE;
  const { state = 'queued', afterSeconds = null } = end ?? {};
  const id = jobSpec.attemptId;
  try {
    await db.query(ADD, ADD.values({ id, spec: JSON.stringify(jobSpec), state, afterSeconds }));
    const job = await readJob(db, id);
    if (job && job.state !== 'barred') return { kind: 'accepted', jobId: id };
    return { kind: 'not_sent', cause: 'a find came first and barred the attempt' };
  } catch (error) {
    return { kind: 'unknown', cause: `the database: ${String(error)}` };
  }
}

/** Looks for the job of an attempt. If there is none, bars it: no job can be added later. */
export async function findJob(db: Database, attemptId: string): Promise<FindOutcome> {
  await db.query(BAR, [attemptId]);
  const job = await readJob(db, attemptId);
  return job && job.state !== 'barred'
    ? { kind: 'found', jobId: job.id, by: 'mark' }
    : { kind: 'absent', proof: 'final' };
}

/** @param endOf gives the status of a job that has ended */
export async function readStatus(
  db: Database,
  jobId: string,
  endOf: (job: LocalJob) => JobStatus,
): Promise<JobStatus> {
  const job = await readJob(db, jobId);
  if (!job || job.state === 'barred') return { kind: 'missing' };
  const isWorking = job.state === 'queued' || job.state === 'rendering';
  return isWorking ? { kind: 'working' } : endOf(job);
}

/** Ends a job that waits or works; the result of a render under way is not used. */
export async function cancel(db: Database, jobId: string): Promise<CancelOutcome> {
  if (await cancelJob(db, jobId)) return { kind: 'accepted' };
  return { kind: 'refused', cause: 'the job neither waits nor is rendered' };
}

/** If a lease is not renewed for this long, any process may start the render again. */
export const RENDER_LEASE_SECONDS = 10;

/** Takes the oldest job that waits or whose lease has expired, if there is one. */
export const takeJob = queryFirst<[], LocalJob>(
  'local_job_take',
  `update local_jobs set state = 'rendering', renders = renders + 1,
     leased_until = clock_now() + interval '${RENDER_LEASE_SECONDS} seconds'
   where id = (
     select id from local_jobs
     where state = 'queued' or (state = 'rendering' and leased_until < clock_now())
     order by created_at for update skip locked limit 1)
   returning id, state, spec, renders, object_id, cause`,
);
export const renewJob = command<[id: string, renders: number]>(
  'local_job_renew',
  `update local_jobs set leased_until = clock_now() + interval '${RENDER_LEASE_SECONDS} seconds'
   where id = $1 and renders = $2 and state = 'rendering'`,
);
const FINISH = namedStatement(
  'local_job_finish',
  `update local_jobs set state = :state, object_id = :objectId, cause = :cause,
     leased_until = null
   where id = :id and renders = :renders and state = 'rendering'`,
);

/** How a render ended; `queued` puts its job back in the queue. */
export interface RenderEnd {
  state: 'succeeded' | 'failed' | 'queued';
  objectId?: string;
  cause?: string;
}

/** Ends this render of a job, unless another process has started the job again meanwhile. */
export async function finishJob(db: Database, job: LocalJob, end: RenderEnd): Promise<void> {
  const { id, renders } = job;
  const { state, objectId = null, cause = null } = end;
  await db.query(FINISH, FINISH.values({ id, renders, state, objectId, cause }));
}

/** The cause of a failed job whose finished render was deleted. */
export const RENDER_GONE = 'the render is gone';

export const markRenderLost = command<[id: string]>(
  'local_job_lose',
  `update local_jobs set state = 'failed', cause = '${RENDER_GONE}'
   where id = $1 and state = 'succeeded'`,
);

export const OWN_JOBS: OwnJobs = {
  isRunning: (attemptIds) => `exists (select from local_jobs j
     where j.id = any(${attemptIds}) and j.state in ('queued', 'rendering'))`,
  deleteOf: command('local_job_delete', 'delete from local_jobs where id = any($1)'),
  eraseOf: command('local_job_erase', `update local_jobs set spec = '{}' where id = any($1)`),
};
