-- oldest-program: 0013
-- Since when a process sends a mail to the account; null: none does. Afterwards alerted_at or
-- reload_stop_told_at is set. A claim of more than five minutes is that of a process that has died.
alter table billing_accounts add column mail_claimed_at timestamptz;
