import { command, type Database, queryColumn, queryFirst, whether } from '../database/database.ts';
import { storable } from '../database/json-text.ts';
import type { Log } from '../kernel/log.ts';
import type { CancelOutcome, Provider } from '../providers/provider.ts';
import { wakeTask } from '../tasks/transitions.ts';

export interface CancelRequest {
  state: 'requested' | 'accepted' | 'refused';
  cause: string | null;
  requested_by: Canceller;
}

export type Canceller = 'customer' | 'operator';

export const readCancel = queryFirst<[taskId: string], CancelRequest>(
  'cancel_read',
  'select state, cause, requested_by from cancel_requests where task_id = $1',
);

/**
 * Asks the workers to cancel the job of an accepted task at its provider (decisions/0017).
 * @returns false if it was requested before and not refused
 */
export const requestCancel = whether<[taskId: string, by: Canceller]>(
  'cancel_request',
  `insert into cancel_requests as c (task_id, requested_by) values ($1, $2)
   on conflict (task_id) do update set state = 'requested', requested_at = clock_now(),
     ask_after = clock_now(), cause = null, requested_by = excluded.requested_by
     where c.state = 'refused'
   returning task_id`,
);

/** A cancel is sent again after this time if it failed or its process died. */
const RETRY_SECONDS = 30;

// A job of a provider that this process doesn't have is left to another process.
const takeDue = queryColumn<[providers: string[]], string>(
  'cancel_take',
  `with due as materialized (
     select r.task_id from cancel_requests r
     where r.state = 'requested' and r.ask_after <= (select clock_now())
       and not exists (select from attempts a
         where a.task_id = r.task_id and a.state = 'accepted' and a.provider <> all($1))
     order by r.ask_after limit 10 for update skip locked)
   update cancel_requests c set ask_after = clock_now() + interval '${RETRY_SECONDS} seconds'
   where c.task_id = any(array(select task_id from due)) returning c.task_id`,
);

const jobOf = queryFirst<[taskId: string], { provider: string; job_id: string }>(
  'cancel_job',
  `select a.provider, a.job_id from attempts a join tasks t on t.id = a.task_id
   where a.task_id = $1 and a.state = 'accepted' and t.due_at is not null`,
);

const recordReply = command<[taskId: string, state: string, cause: string | null]>(
  'cancel_responded',
  `update cancel_requests set state = $2, cause = $3
   where task_id = $1 and state = 'requested'`,
);

interface CancelDeps {
  db: Database;
  log: Log;
  providers: ReadonlyMap<string, Provider>;
}

/**
 * Sends at most ten pending cancel requests to these providers. This decides nothing about a task:
 * the next read of the job shows how it ended.
 */
export async function askForCancels(deps: CancelDeps): Promise<void> {
  const taskIds = await takeDue(deps.db, [...deps.providers.keys()]);
  await Promise.all(taskIds.map((taskId) => askForCancel(deps, taskId)));
}

async function askForCancel({ db, log, providers }: CancelDeps, taskId: string): Promise<void> {
  const job = await jobOf(db, taskId);
  const provider = job && providers.get(job.provider);
  if (job && !provider) return; // another process may have this provider
  let outcome: CancelOutcome;
  try {
    outcome = provider
      ? await cancelAt(provider, job.job_id)
      : { kind: 'refused', cause: 'the task has ended meanwhile' };
  } catch (error) {
    log.warn({ err: error, task: taskId }, 'a job could not be cancelled; will retry');
    await recordReply(db, taskId, 'requested', storable(String(error)));
    return;
  }
  const cause = outcome.kind === 'refused' ? storable(outcome.cause) : null;
  await recordReply(db, taskId, outcome.kind, cause);
  log.info({ task: taskId, job: job?.job_id, ...outcome }, 'a provider was asked to cancel a job');
  await wakeTask(db, taskId);
}

async function cancelAt(provider: Provider, jobId: string): Promise<CancelOutcome> {
  if (provider.cancel) return provider.cancel(jobId);
  return { kind: 'refused', cause: `${provider.name} has no call that cancels a job` };
}
