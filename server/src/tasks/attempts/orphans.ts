import { statement, type Transaction } from '../../database/database.ts';

/**
 * `suspected`: only callbacks without a valid signature named the job, and the provider has not yet
 * said whether it knows the job. `confirmed`: a verified callback, or the provider, shows that it
 * exists. `unknown_there`: the provider does not know it.
 */
export type OrphanState = 'suspected' | 'confirmed' | 'unknown_there';

// A job that belongs to any attempt is not an orphan job. A task without `due_at` has ended, so its
// attempt can't adopt a job any more.
const RECORD = statement(
  'orphan_record',
  `insert into orphan_jobs as o (provider, job_id, attempt_id, task_id, source, state)
   select a.provider, e.finding->>'job', a.id, a.task_id, min(e.source),
     case when bool_or((e.finding->>'verified')::boolean) then 'confirmed' else 'suspected' end
   from evidence e join attempts a on a.id = e.attempt_id join tasks t on t.id = a.task_id
   where a.id = any($1) and e.source in ('sender', 'callback') and e.finding->>'job' is not null
     and (a.state not in ('in_flight', 'unknown') or t.due_at is null)
     and not exists (select from attempts other
       where other.provider = a.provider and other.job_id = e.finding->>'job')
     and not exists (select from archived_tasks other
       where other.provider = a.provider and other.job_id = e.finding->>'job')
   group by a.id, 2
   on conflict (provider, job_id) do update set state = excluded.state
     where o.state <> 'confirmed' and excluded.state = 'confirmed'`,
);

/**
 * Records the jobs that were named for an attempt and that it can't adopt any more (C16). They are
 * not cancelled, because at some providers a cancel deletes a finished result.
 */
export async function recordOrphans(tx: Transaction, ...attemptIds: string[]): Promise<void> {
  await tx.query(RECORD, [attemptIds]);
}

const REMOVE = statement(
  'orphan_remove',
  'delete from orphan_jobs where provider = $1 and job_id = $2',
);

/** Removes a job from the orphan jobs, because an operator decision gave it to a task. */
export async function removeOrphan(
  tx: Transaction,
  provider: string,
  jobId: string,
): Promise<void> {
  await tx.query(REMOVE, [provider, jobId]);
}
