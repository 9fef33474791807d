/** SQL fragments that read accounts, for statements of other folders. */

/** Joins the account with this id as `a`. */
export function joinAccount(id: string): string {
  return `join accounts a on a.id = ${id}`;
}

export function lowerEmailOf(id: string): string {
  return `(select lower(email) from accounts where id = ${id})`;
}

export interface AccountState {
  is_disabled: boolean;
  /** Whether it is in the grace period after its owner closed it. */
  is_closing: boolean;
  /** Whether the grace period has ended, or an operator has erased it: nobody can reopen it. */
  is_deleted: boolean;
}

/** The columns of {@link AccountState}; needs {@link joinAccount}. */
export const ACCOUNT_STATE = `a.disabled_at is not null as is_disabled,
     exists (select from account_closings c where c.account_id = a.id) as is_closing,
     a.erased_at is not null or exists (
       select from account_deletions d where d.account_id = a.id) as is_deleted`;
