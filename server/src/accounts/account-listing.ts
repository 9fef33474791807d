import { type Queryable, queryFirst, statement } from '../database/database.ts';

export interface AccountListing {
  account_id: string;
  email: string;
  created_at: Date;
  disabled_at: Date | null;
  erased_at: Date | null;
}

const COLUMNS = 'id as account_id, email, created_at, disabled_at, erased_at';

const LIST = statement(
  'operator_accounts',
  `select ${COLUMNS} from accounts
   where ($1::text is null
       or (created_at, id) < (select c.created_at, c.id from accounts c where c.id = $1))
     and ($3::text is null or id = $3 or strpos(lower(email), lower($3)) > 0)
   order by created_at desc, id desc limit $2`,
);

/**
 * A page of accounts, the newest first.
 * @param page.after the last account of the page before
 * @param page.find only the account with this id, or those with this text in their address
 */
export function listAccounts(
  db: Queryable,
  {
    after = null,
    find = null,
    limit,
  }: { after?: string | null | undefined; find?: string | null | undefined; limit: number },
): Promise<AccountListing[]> {
  return db.query<AccountListing>(LIST, [after, limit, find]);
}

/** An account; undefined if there is none with this id. */
export const readAccount = queryFirst<[accountId: string], ShownAccount>(
  'operator_account',
  `select ${COLUMNS}, (select erase_at from account_closings c
     where c.account_id = id and c.closed_at = disabled_at) as erase_at
   from accounts where id = $1`,
);

/** `erase_at`: when an account that its owner has closed can't be reopened any more. */
export type ShownAccount = AccountListing & { erase_at: Date | null };
