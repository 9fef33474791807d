import { type Database, statement } from '../database/database.ts';
import type { OrphanState } from '../tasks/attempts/orphans.ts';

interface OrphanListing {
  provider: string;
  job_id: string;
  task_id: string;
  state: OrphanState;
  /** Where the id of the job came from. */
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

/** The newest thousand orphan jobs. */
export function listOrphans(db: Database): Promise<OrphanListing[]> {
  return db.query<OrphanListing>(LIST);
}
