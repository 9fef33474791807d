import { type Database, statement } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import type { OrphanState } from '../tasks/attempts/orphans.ts';
import { type Action, performAction } from './actions.ts';

export interface OrphanListing {
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
  /** When an operator had dealt with it. */
  acknowledged_at: Date | null;
}

const COLUMNS = `provider, job_id, task_id, state, source, status, found_at, checked_at,
     acknowledged_at`;

const LIST = statement(
  'orphan_list',
  `select ${COLUMNS} from orphan_jobs
   where ($2 or acknowledged_at is null) and ($3::text is null
     or (found_at, provider, job_id) < (select c.found_at, c.provider, c.job_id from orphan_jobs c
       where c.provider || '/' || c.job_id = $3))
   order by found_at desc, provider desc, job_id desc limit $1`,
);

/**
 * A page of orphan jobs, the newest first.
 * @param filter.all also those that an operator has acknowledged
 * @param filter.after `PROVIDER/JOB_ID` of the last one of the page before
 */
export function listOrphans(
  db: Database,
  { all, after = null, limit }: { all: boolean; after?: string | undefined | null; limit: number },
): Promise<OrphanListing[]> {
  return db.query<OrphanListing>(LIST, [limit, all, after]);
}

const LOCK = statement(
  'orphan_lock',
  `select acknowledged_at from orphan_jobs where provider = $1 and job_id = $2 for update`,
);

const ACKNOWLEDGE = statement(
  'orphan_acknowledge',
  `update orphan_jobs set acknowledged_at = clock_now() where provider = $1 and job_id = $2`,
);

/**
 * Records that an operator has dealt with an orphan job: lists and metrics leave it out.
 * @returns changed: false when it was acknowledged before
 * @throws UsageError when there is no such orphan job
 */
export function acknowledgeOrphan(
  db: Database,
  action: Action,
  { provider, jobId }: { provider: string; jobId: string },
) {
  return performAction(db, action, { target: `${provider}/${jobId}` }, async (tx) => {
    const [orphan] = await tx.query<OrphanListing>(LOCK, [provider, jobId]);
    if (!orphan) throw new UsageError(`${provider} has no orphan job ${JSON.stringify(jobId)}`);
    const changed = orphan.acknowledged_at === null;
    if (changed) await tx.query(ACKNOWLEDGE, [provider, jobId]);
    return { provider, job_id: jobId, acknowledged: true, changed };
  });
}
