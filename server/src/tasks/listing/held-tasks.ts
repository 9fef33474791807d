import { namedStatement, type Queryable } from '../../database/database.ts';
import { HELD_SINCE, type TaskListing } from './task-listing.ts';

type Listed = Pick<TaskListing, 'id' | 'account_id' | 'surface' | 'provider' | 'credits'>;
export type HeldTask = Listed & { held_cause: string; held_since: Date };

/** More are not decided at once, so that an operator can read the list. */
const MOST = 1000;

const FIND = namedStatement(
  'operator_held_to_decide',
  ['provider', 'accountId', 'hours', 'cause'],
  `with held as (
     select id, account_id, surface, held_cause, provider, credits, ${HELD_SINCE} as held_since
     from tasks where phase = 'held' and provider = coalesce(:provider::text, provider)
       and account_id = coalesce(:accountId::text, account_id)
       and held_cause = coalesce(:cause::text, held_cause))
   select id, account_id, surface, held_cause, provider, credits, held_since from held
   where held_since <= (select clock_now()) - :hours::float8 * interval '1 hour'
   order by held_since, id limit ${MOST}`,
);

/** The held tasks of a filter, those held first. null: any; `hours`: held for at least so long. */
export function heldTasks(
  db: Queryable,
  filter: {
    provider: string | null;
    accountId: string | null;
    hours: number;
    cause: string | null;
  },
): Promise<HeldTask[]> {
  return db.query<HeldTask>(FIND, FIND.values(filter));
}
