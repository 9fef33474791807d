import { type Database, statement, type Transaction } from '../../database/database.ts';
import { jsonText } from '../../database/json-text.ts';
import type { Log } from '../../kernel/log.ts';
import type { JobStatus, Provider } from '../../providers/provider.ts';

/** A provider's job that no task uses. */
export interface Orphan {
  provider: string;
  job_id: string;
  task_id: string;
  /** suspected: an unsigned callback named it, nobody looked yet. */
  state: 'suspected' | 'confirmed' | 'unknown_there';
}

// A job that an attempt has adopted, this one or another, is none.
const NOTE = statement(
  'orphan_note',
  `insert into orphan_jobs as o (provider, job_id, attempt_id, task_id, source, state)
   select a.provider, e.finding->>'job', a.id, a.task_id, min(e.source),
     case when bool_or((e.finding->>'verified')::boolean) then 'confirmed' else 'suspected' end
   from evidence e join attempts a on a.id = e.attempt_id join tasks t on t.id = a.task_id
   where a.id = $1 and e.source in ('sender', 'callback') and e.finding->>'job' is not null
     and (a.state not in ('in_flight', 'unknown') or t.due_at is null)
     and not exists (select from attempts other
       where other.provider = a.provider and other.job_id = e.finding->>'job')
   group by a.id, 2
   on conflict (provider, job_id) do update set state = excluded.state
     where o.state <> 'confirmed' and excluded.state = 'confirmed'`,
);

/**
 * Records the jobs that were named for an attempt and that it can't adopt any more: late evidence
 * (design decision 16). Nothing is cancelled: at some providers that deletes a finished result.
 */
export async function noteOrphans(tx: Transaction, attemptId: string): Promise<void> {
  await tx.query(NOTE, [attemptId]);
}

const ADOPT = statement(
  'orphan_adopt',
  'delete from orphan_jobs where provider = $1 and job_id = $2',
);

/** A job that a task uses after all, by an operator's word. */
export async function adoptOrphan(tx: Transaction, provider: string, jobId: string): Promise<void> {
  await tx.query(ADOPT, [provider, jobId]);
}

const LIST = statement(
  'orphan_list',
  `select provider, job_id, task_id, state, source, status, found_at, checked_at
   from orphan_jobs order by found_at desc limit 1000`,
);

export interface OrphanListing extends Orphan {
  /** Who named it. */
  source: 'sender' | 'callback';
  /** What the provider said of it when it was asked. */
  status: object | null;
  found_at: Date;
  checked_at: Date | null;
}

/** The newest thousand jobs that no task uses. */
export function listOrphans(db: Database): Promise<OrphanListing[]> {
  return db.query<OrphanListing>(LIST);
}

const SUSPECTED = statement(
  'orphan_suspected',
  `select provider, job_id, task_id, state from orphan_jobs
   where state = 'suspected' and provider = any($1)
   order by checked_at nulls first, found_at limit 20`,
);

const CHECKED = statement(
  'orphan_checked',
  `update orphan_jobs set state = $3, status = $4, checked_at = clock_now()
   where provider = $1 and job_id = $2 and state = 'suspected'`,
);

const REPORTED = statement(
  'orphan_reported',
  `update orphan_jobs set reported_at = clock_now()
   where state = 'confirmed' and reported_at is null returning provider, job_id, task_id, state`,
);

export interface OrphanDeps {
  db: Database;
  log: Log;
  providers: ReadonlyMap<string, Provider>;
}

/**
 * Looks at the jobs that unsigned callbacks named for ended tasks (is there such a job at all?) and
 * tells the operator of those that are certain.
 */
export async function tendOrphans(deps: OrphanDeps): Promise<void> {
  const names = [...deps.providers.keys()];
  for (const suspect of await deps.db.query<Orphan>(SUSPECTED, [names])) {
    const provider = deps.providers.get(suspect.provider);
    if (!provider) continue;
    await checkSuspect(deps, provider, suspect).catch((error: Error) => {
      deps.log.warn({ err: error, job: suspect.job_id }, 'a suspected job can not be checked');
    });
  }
  for (const { provider, job_id: job, task_id: task } of await deps.db.query<Orphan>(REPORTED)) {
    deps.log.error({ task, job, provider }, 'a job that no task uses has come to light');
  }
}

async function checkSuspect(
  { db }: OrphanDeps,
  provider: Provider,
  suspect: Orphan,
): Promise<void> {
  const found = await provider.read(suspect.job_id).catch((error: Error) => error);
  const state = stateOf(found);
  const status = found instanceof Error ? { error: found.message } : found;
  await db.query(CHECKED, [suspect.provider, suspect.job_id, state, jsonText(status)]);
}

function stateOf(found: JobStatus | Error): Orphan['state'] {
  if (found instanceof Error) return 'suspected';
  return found.kind === 'missing' ? 'unknown_there' : 'confirmed';
}
