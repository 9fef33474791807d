import { type Database, statement } from '../database/database.ts';
import type { OrphanState } from '../tasks/attempts/orphans.ts';

interface OrphanListing {
  provider: string;
  job_id: string;
  task_id: string;
  state: OrphanState;
  /** What named the job. */
  source: 'sender' | 'callback';
  /** What the provider said about the job when it was asked. */
  status: object | null;
  found_at: Date;
  checked_at: Date | null;
}

const LIST = statement(
  'orphan_list',
  `select provider, job_id, task_id, state, source, status, found_at, checked_at
   from orphan_jobs order by found_at desc limit 1000`,
);

/** The newest thousand jobs that no task uses. */
export function listOrphans(db: Database): Promise<OrphanListing[]> {
  return db.query<OrphanListing>(LIST);
}
