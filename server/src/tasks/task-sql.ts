import { TEST_SURFACE } from '../ledger/transfer.ts';
import { NOW } from './lease.ts';

/** SQL fragments that read tasks, for statements of other folders. */

/**
 * A table of the tasks whose content was refused in the last hour, without those of test keys. A
 * time in the future, from before the clock was set back, does not count.
 */
export const REFUSED_LATELY = `(select id, account_id, updated_at as at from tasks
     where error_code = 'content_refused' and surface <> '${TEST_SURFACE}'
       and updated_at > ${NOW} - interval '1 hour' and updated_at <= ${NOW})`;

/** A table of the videos that were made, without those of test keys. Their files may be deleted. */
export const MADE_VIDEOS = `(select id, account_id, request->>'prompt' as prompt, output_facts
     from tasks where phase = 'completed' and surface <> '${TEST_SURFACE}')`;

/** The ids of an account's tasks. */
export function tasksOf(accountId: string): string {
  return `select id from tasks where account_id = ${accountId}`;
}
