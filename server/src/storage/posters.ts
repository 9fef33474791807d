import { command, type Database, first, queryFirst, statement } from '../database/database.ts';

/** A try that fails, or whose process dies, is repeated after this time. */
const RETRY_MINUTES = 5;
/** After this many tries, an output stays without a poster. */
const MAX_TRIES = 3;

export interface DueOutput {
  id: string;
  task_id: string;
  /** The number of the try. A later try voids an earlier one. */
  tries: number;
}

/**
 * Takes the newest output that waits for its poster. Several processes may call it at once. The try
 * is counted before it begins, so that a file that crashes its process is not retried forever.
 */
export const takeDueOutput = queryFirst<[], DueOutput>(
  'poster_take',
  `with due as materialized (
     select id from stored_objects
     where state = 'ready' and poster_due_at <= (select clock_now())
     order by poster_due_at desc limit 1 for update skip locked)
   update stored_objects set poster_tries = poster_tries + 1,
     poster_due_at = case when poster_tries + 1 < ${MAX_TRIES}
       then clock_now() + interval '${RETRY_MINUTES} minutes' end
   where id = any(array(select id from due))
   returning id, owner_id as task_id, poster_tries as tries`,
);

// The output is locked before its poster, as in a takedown. A poster is deleted with its output.
const READY = statement(
  'poster_ready',
  `with output as (
     update stored_objects set poster_due_at = null
     where id = $1 and state = 'ready' and poster_tries = $2 returning delete_after)
   update stored_objects set delete_after = (select delete_after from output),
     state = case when exists (select from output) then 'ready' else 'deleting' end
   where id = $3 and state = 'writing' returning state`,
);

/**
 * Makes a stored poster `ready`, with the retention of its output, or marks it for deletion if the
 * output is deleted or was taken for a later try. @returns whether it is ready
 */
export async function markPosterReady(
  db: Database,
  output: DueOutput,
  posterId: string,
): Promise<boolean> {
  const poster = await first<{ state: string }>(db, READY, [output.id, output.tries, posterId]);
  return poster?.state === 'ready';
}

/** Leaves an output without a poster: another try would end like this one. */
export const giveUpPoster = command<[id: string, tries: number]>(
  'poster_give_up',
  'update stored_objects set poster_due_at = null where id = $1 and poster_tries = $2',
);
