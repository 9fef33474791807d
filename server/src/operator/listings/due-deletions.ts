import { queryColumn } from '../../database/database.ts';

// An erasure needs an account that has been disabled for a minute and has no live task.
/** The closed accounts whose personal data can be erased now. */
export const dueDeletions = queryColumn<[], string>(
  'deletion_due',
  `select d.account_id from account_deletions d join accounts a on a.id = d.account_id
   where d.erased_at is null and a.disabled_at < clock_now() - interval '61 seconds'
     and not exists (
       select from tasks t where t.account_id = d.account_id and t.due_at is not null)
   order by d.asked_at limit 20`,
);
