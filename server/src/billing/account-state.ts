/** Whether an account can use what it buys. */
export interface AccountState {
  /** Whether the account is disabled. */
  is_disabled: boolean;
  /** Whether its owner has closed the account, and can still reopen it. */
  is_closing: boolean;
  /** Whether its owner has deleted the account, or an operator has erased it. */
  is_closed: boolean;
}

/** The columns of {@link AccountState}, for a `select` from `accounts a`. */
export const ACCOUNT_STATE = `a.disabled_at is not null as is_disabled,
     exists (select from account_closings c
       where c.account_id = a.id and c.closed_at = a.disabled_at) as is_closing,
     a.erased_at is not null or exists (
       select from account_deletions d where d.account_id = a.id) as is_closed`;
