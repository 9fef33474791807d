import { statement, type Transaction } from '../../database/database.ts';
import { FINDING_TEXTS } from '../attempts/evidence.ts';

/** What stands in the place of a text that was erased. */
export const ERASED = 'erased';

/** SQL: a request without what the client wrote in it. */
export function erasedRequest(request: string): string {
  return `(${request}) - '{image_url,end_image_url}'::text[] || '{"prompt": "${ERASED}",
         "erased": true, "reference_image_urls": [], "reference_video_urls": []}'::jsonb`;
}

/** A list of the record of an archived task, each entry without its cause. */
function erasedList(list: string, entry: string): string {
  return `(select coalesce(jsonb_agg(${entry} - 'cause' order by n), '[]')
         from jsonb_array_elements(${list}) with ordinality as entry (one, n))`;
}

const ERASED_ATTEMPT = `(one || jsonb_build_object('evidence',
         (select coalesce(jsonb_agg(e || jsonb_build_object(
           'finding', (e->'finding') - ${FINDING_TEXTS}) order by k), '[]')
          from jsonb_array_elements(one->'evidence') with ordinality as found (e, k))))`;

/** How many archived tasks one transaction erases. Each batch passes over those before it. */
const BATCH = 1000;

const ERASE = statement(
  'erase_archived',
  `with next as materialized (
     select id from archived_tasks where account_id = $1 and erased_at is null
     order by id limit ${BATCH} for update)
   update archived_tasks set erased_at = clock_now(),
     taken_down_at = coalesce(taken_down_at, clock_now()),
     record = record || jsonb_build_object(
       'task', (record->'task') || jsonb_build_object(
         'provider_output', null, 'error_details', null, 'error_message',
         case when record#>>'{task,error_message}' is not null then '${ERASED}' end,
         'request', ${erasedRequest("record#>'{task,request}'")}),
       'history', ${erasedList("record->'history'", 'one')},
       'attempts', ${erasedList("record->'attempts'", ERASED_ATTEMPT)})
   where id = any(array(select id from next)) returning id`,
);

/** Removes the personal data of some archived tasks of an account. @returns of how many */
export async function eraseArchived(tx: Transaction, accountId: string): Promise<number> {
  return (await tx.query(ERASE, [accountId])).length;
}
