-- oldest-program: 0013
-- Which mailboxes have had the promotional credits of a new account (SIGNUP_CREDITS), as SHA-256 of
-- the address. A row outlives the account for a year: who deletes it and signs up again gets none.
create table signup_grants (
  address_hash bytea primary key,
  granted_at timestamptz not null default clock_now()
);
create index signup_grants_granted on signup_grants (granted_at);
