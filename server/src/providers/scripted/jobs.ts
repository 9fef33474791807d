import type { TestOutcome } from '../../catalog/test-outcomes.ts';
import { type Database, namedStatement, statement } from '../../database/database.ts';

/** A job that was accepted, or the mark that none of this attempt may come any more. */
export interface ScriptedJob {
  id: string;
  state: 'barred' | 'accepted' | 'cancelled';
  outcome: TestOutcome;
  aspect_ratio: string;
  /** Since it was accepted. */
  age_seconds: number;
}

const ADD = namedStatement(
  'scripted_job_add',
  ['id', 'outcome', 'aspectRatio'],
  `insert into scripted_jobs (id, state, outcome, aspect_ratio)
   values (:id, 'accepted', :outcome, :aspectRatio) on conflict (id) do nothing returning id`,
);
const BAR = statement(
  'scripted_job_bar',
  `insert into scripted_jobs (id, state) values ($1, 'barred') on conflict (id) do nothing`,
);
const READ = statement(
  'scripted_job_read',
  `select id, state, outcome, aspect_ratio,
     extract(epoch from clock_now() - created_at)::float8 as age_seconds
   from scripted_jobs where id = $1`,
);
const CANCEL = statement(
  'scripted_job_cancel',
  `update scripted_jobs set state = 'cancelled' where id = $1 and (state = 'cancelled'
     or state = 'accepted' and created_at > clock_now() - $2::float8 * interval '1 second')
   returning id`,
);
const FORGET = statement(
  'scripted_jobs_forget',
  `delete from scripted_jobs where created_at < clock_now() - interval '30 days'`,
);

export async function readScripted(db: Database, id: string): Promise<ScriptedJob | undefined> {
  const [job] = await db.query<ScriptedJob>(READ, [id]);
  return job;
}

/**
 * Adds a job, unless its attempt was barred.
 * @returns whether there is a job with its id
 */
export async function addScripted(
  db: Database,
  job: { id: string; outcome: TestOutcome; aspectRatio: string },
): Promise<boolean> {
  if ((await db.query(ADD, ADD.values(job))).length > 0) return true;
  return (await readScripted(db, job.id))?.state !== 'barred';
}

/** Keeps a job with this id from being added later, if there is none. */
export async function barScripted(db: Database, id: string): Promise<void> {
  await db.query(BAR, [id]);
}

/** Cancels a job that works for this long. @returns false if it has ended, or is not there */
export async function cancelScripted(db: Database, id: string, seconds: number): Promise<boolean> {
  return (await db.query(CANCEL, [id, seconds])).length === 1;
}

/** Removes jobs that no task needs any more. */
export async function forgetScripted(db: Database): Promise<void> {
  await db.query(FORGET);
}
