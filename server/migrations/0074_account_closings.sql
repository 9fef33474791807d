-- oldest-program: 0013
-- Accounts that their owners have closed, and can reopen until a worker ends the grace period: then
-- the row becomes one of account_deletions, and the account is erased. A row counts only while the
-- account is disabled since closed_at. So an operator who enables the account, also by an older
-- program, withdraws the closing.
create table account_closings (
  account_id text primary key references accounts,
  closed_at timestamptz not null,
  erase_at timestamptz not null
);
create index account_closings_due on account_closings (erase_at);
