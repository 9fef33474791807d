import type { TestOutcome } from '../../catalog/test-outcomes.ts';
import {
  command,
  type Database,
  namedStatement,
  queryFirst,
  whether,
} from '../../database/database.ts';

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
/** Keeps a job with this id from being added later, if there is none. */
export const barScripted = command<[id: string]>(
  'scripted_job_bar',
  `insert into scripted_jobs (id, state) values ($1, 'barred') on conflict (id) do nothing`,
);
export const readScripted = queryFirst<[id: string], ScriptedJob>(
  'scripted_job_read',
  `select id, state, outcome, aspect_ratio,
     extract(epoch from clock_now() - created_at)::float8 as age_seconds
   from scripted_jobs where id = $1`,
);
/** Cancels a job that works for this long. @returns false if it has ended, or is not there */
export const cancelScripted = whether<[id: string, seconds: number]>(
  'scripted_job_cancel',
  `update scripted_jobs set state = 'cancelled' where id = $1 and (state = 'cancelled'
     or state = 'accepted' and created_at > clock_now() - $2::float8 * interval '1 second')
   returning id`,
);
/** Removes jobs that no task needs any more. */
export const forgetScripted = command<[]>(
  'scripted_jobs_forget',
  `delete from scripted_jobs where created_at < clock_now() - interval '30 days'`,
);

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
