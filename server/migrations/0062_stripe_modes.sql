-- oldest-program: 0013
-- In which mode of Stripe (test, live), and in which of its accounts, each id of Stripe holds
-- (docs/decisions/0030-billing.md). null: not known. Ids of before have neither.
alter table subscriptions add column stripe_mode text check (stripe_mode in ('test', 'live')),
  add column stripe_account text;
alter table orders add column stripe_mode text check (stripe_mode in ('test', 'live')),
  add column stripe_account text;
alter table portal_configurations
  add column stripe_mode text check (stripe_mode in ('test', 'live')),
  add column stripe_account text;
-- gone_at: since when nobody can subscribe to the price, because it was archived at Stripe.
alter table plan_prices add column stripe_mode text check (stripe_mode in ('test', 'live')),
  add column stripe_account text,
  add column gone_at timestamptz;

-- The customers of an account, one for each mode and account at Stripe. Those of before, and of
-- older programs, are in billing_accounts.stripe_customer only.
create table stripe_customers (
  account_id text not null references accounts,
  stripe_mode text not null check (stripe_mode in ('test', 'live')),
  stripe_account text,
  stripe_customer text not null
);
create unique index stripe_customers_one on stripe_customers
  (account_id, stripe_mode, coalesce(stripe_account, ''));
create index stripe_customers_customer on stripe_customers (stripe_customer);
