-- oldest-program: 0150
-- Mails to the owners of accounts that are still to be sent, written with what they tell of.
create table mails (
  id text primary key,
  account_id text not null,
  subject text not null,
  text text not null,
  created_at timestamptz not null default clock_now(),
  -- When a process may take it up, again if the last try has not ended.
  due_at timestamptz not null default clock_now(),
  tries integer not null default 0
);
create index mails_due on mails (due_at);
create index mails_account on mails (account_id);
