/** SQL that reads accounts, for statements of rooms that have their ids. */

/** Joins the account of a row, as `a`. */
export function joinAccount(id: string): string {
  return `join accounts a on a.id = ${id}`;
}

/** A select of the e-mail address of an account, in lower case. */
export function lowerEmailOf(id: string): string {
  return `(select lower(email) from accounts where id = ${id})`;
}

/** Whether an account can use what it buys. */
export interface AccountState {
  /** Whether the account is disabled. */
  is_disabled: boolean;
  /** Whether its owner has closed the account, and can still reopen it. */
  is_closing: boolean;
  /** Whether its owner has deleted the account, or an operator has erased it. */
  is_closed: boolean;
}

/** The columns of {@link AccountState}, for a statement with {@link joinAccount}. */
export const ACCOUNT_STATE = `a.disabled_at is not null as is_disabled,
     exists (select from account_closings c
       where c.account_id = a.id and c.closed_at = a.disabled_at) as is_closing,
     a.erased_at is not null or exists (
       select from account_deletions d where d.account_id = a.id) as is_closed`;
