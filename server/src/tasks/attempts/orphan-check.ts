import { type Database, statement } from '../../database/database.ts';
import { jsonText } from '../../database/json-text.ts';
import type { Log } from '../../kernel/log.ts';
import type { JobStatus, Provider } from '../../providers/provider.ts';
import { IS_ERASED } from './evidence.ts';
import type { OrphanState } from './orphans.ts';

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

// The status may have a link to the video, or a text of the provider.
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
 * A job is suspected if only callbacks without a valid signature named it.
 */
export async function checkOrphans(deps: OrphanCheckDeps): Promise<void> {
  const names = [...deps.providers.keys()];
  for (const suspect of await deps.db.query<OrphanJob>(SUSPECTED, [names])) {
    const provider = deps.providers.get(suspect.provider);
    if (!provider) continue;
    await checkSuspect(deps, provider, suspect).catch((error: Error) => {
      deps.log.warn(
        { err: error, task: suspect.task_id, job: suspect.job_id },
        'a suspected orphan job could not be checked',
      );
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
