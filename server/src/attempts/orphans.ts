import {
  command,
  type Database,
  query,
  queryValue,
  statement,
  type Transaction,
} from '../database/database.ts';
import { jsonText } from '../database/json-text.ts';
import type { Log } from '../kernel/log.ts';
import type { JobStatus, Provider } from '../providers/provider.ts';
import { IS_ERASED } from './evidence.ts';

/**
 * `suspected`: only callbacks without a valid signature named the job, and the provider has not yet
 * said whether it knows the job. `confirmed`: a verified callback, or the provider, shows that it
 * exists. `unknown_there`: the provider does not know it.
 */
type OrphanState = 'suspected' | 'confirmed' | 'unknown_there';

// A job that belongs to any attempt is not an orphan job. A task without `due_at` has ended, so its
// attempt can no longer adopt a job.
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
   group by a.id, 2
   on conflict (provider, job_id) do update set state = excluded.state
     where o.state <> 'confirmed' and excluded.state = 'confirmed'`,
);

/**
 * Records the jobs that were reported for attempts which can no longer adopt them (C16). They are
 * not cancelled, because at some providers a cancel deletes a finished result.
 */
export async function recordOrphans(tx: Transaction, ...attemptIds: string[]): Promise<void> {
  await tx.query(RECORD, [attemptIds]);
}

/** Removes a job from the orphan jobs, because an operator decision gave it to a task. */
export const removeOrphan = command<[provider: string, jobId: string], Transaction>(
  'orphan_remove',
  'delete from orphan_jobs where provider = $1 and job_id = $2',
);

interface OrphanListing {
  provider: string;
  job_id: string;
  task_id: string;
  state: OrphanState;
  source: 'sender' | 'callback';
  status: object | null;
  found_at: Date;
  checked_at: Date | null;
  acknowledged_at: Date | null;
}

/**
 * A page of orphan jobs, the newest first. `all`: also those that an operator has acknowledged;
 * `after`: `PROVIDER/JOB_ID` of the last one of the previous page.
 */
export const listOrphans = query<
  [limit: number, all: boolean, after: string | null],
  OrphanListing
>(
  'orphan_list',
  `select provider, job_id, task_id, state, source, status, found_at, checked_at, acknowledged_at
   from orphan_jobs
   where ($2 or acknowledged_at is null) and ($3::text is null
     or (found_at, provider, job_id) < (select c.found_at, c.provider, c.job_id from orphan_jobs c
       where c.provider || '/' || c.job_id = $3))
   order by found_at desc, provider desc, job_id desc limit $1`,
);

/**
 * Makes lists and metrics leave out an orphan job.
 * @returns false if it was acknowledged before; undefined if there is no such orphan job
 */
export const markAcknowledged = queryValue<
  [provider: string, jobId: string],
  boolean | undefined,
  Transaction
>(
  'orphan_acknowledge',
  `with orphan as materialized (
     select provider, job_id, acknowledged_at from orphan_jobs
     where provider = $1 and job_id = $2 for update),
   marked as (
     update orphan_jobs o set acknowledged_at = clock_now() from orphan
     where o.provider = orphan.provider and o.job_id = orphan.job_id
       and orphan.acknowledged_at is null)
   select acknowledged_at is null as changed from orphan`,
  undefined,
);

interface OrphanJob {
  provider: string;
  job_id: string;
  task_id: string;
}

const SUSPECTED = statement(
  'orphan_suspected',
  `select provider, job_id, task_id from orphan_jobs
   where state = 'suspected' and provider = any($1)
   order by checked_at nulls first, found_at limit 20`,
);

// An erased task's status is not stored: it may have a link to the video, or a provider's text.
const CHECKED = statement(
  'orphan_checked',
  `update orphan_jobs o set state = $3, checked_at = clock_now(),
     status = case when not exists (select from tasks t where t.id = o.task_id and ${IS_ERASED})
       then $4::jsonb end
   where provider = $1 and job_id = $2 and state = 'suspected'`,
);

const REPORTED = statement(
  'orphan_reported',
  `update orphan_jobs set reported_at = clock_now()
   where state = 'confirmed' and reported_at is null returning provider, job_id, task_id`,
);

interface OrphanCheckDeps {
  db: Database;
  log: Log;
  providers: ReadonlyMap<string, Provider>;
}

/**
 * Asks providers whether suspected orphan jobs exist, and logs each confirmed one once as an error.
 */
export async function checkOrphans(deps: OrphanCheckDeps): Promise<void> {
  const names = [...deps.providers.keys()];
  for (const suspect of await deps.db.query<OrphanJob>(SUSPECTED, [names])) {
    const provider = deps.providers.get(suspect.provider);
    if (!provider) continue;
    await checkSuspect(deps, provider, suspect).catch((error: Error) => {
      const ids = { task: suspect.task_id, job: suspect.job_id };
      deps.log.warn({ err: error, ...ids }, 'a suspected orphan job could not be checked');
    });
  }
  for (const { provider, job_id: job, task_id: task } of await deps.db.query<OrphanJob>(REPORTED)) {
    deps.log.error(
      { task, job, provider },
      'orphan job: no task uses it, and the provider may bill it',
    );
  }
}

async function checkSuspect(
  { db }: OrphanCheckDeps,
  provider: Provider,
  suspect: OrphanJob,
): Promise<void> {
  const found = await provider.read(suspect.job_id).catch((error: Error) => error);
  const state = stateOf(found);
  const status = found instanceof Error ? { error: found.message } : found;
  await db.query(CHECKED, [suspect.provider, suspect.job_id, state, jsonText(status)]);
}

function stateOf(found: JobStatus | Error): OrphanState {
  if (found instanceof Error) return 'suspected';
  return found.kind === 'missing' ? 'unknown_there' : 'confirmed';
}
