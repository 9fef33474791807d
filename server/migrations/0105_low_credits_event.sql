-- oldest-program: 0013
-- When the event credits.low was written for the present shortage; null: not yet.
alter table billing_accounts add column low_event_at timestamptz;
