-- oldest-program: 0038
-- Accounts whose owners asked for deletion. A worker erases each once nothing of it is under way.
create table account_deletions (
  account_id text primary key references accounts,
  asked_at timestamptz not null default clock_now(),
  erased_at timestamptz
);
create index account_deletions_due on account_deletions (asked_at) where erased_at is null;
