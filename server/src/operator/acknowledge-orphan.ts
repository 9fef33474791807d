import { markAcknowledged } from '../attempts/orphans.ts';
import type { Database } from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { type Action, performAction } from './actions.ts';

/**
 * Records that an operator has dealt with an orphan job: lists and metrics leave it out.
 * @returns changed: false when it was acknowledged before
 * @throws UsageError when there is no such orphan job
 */
export function acknowledgeOrphan(
  db: Database,
  action: Action,
  { provider, job_id: jobId }: { provider: string; job_id: string },
) {
  return performAction(db, action, { target: `${provider}/${jobId}` }, async (tx) => {
    const changed = await markAcknowledged(tx, { provider, jobId });
    if (changed === undefined) {
      throw new UsageError(`${provider} has no orphan job ${JSON.stringify(jobId)}`);
    }
    return { provider, job_id: jobId, acknowledged: true, changed };
  });
}
