-- oldest-program: 0013
-- What customers buy, and what of it is booked (docs/decisions/0030-billing.md). Prices are in minor
-- units, such as cents. Names that begin with stripe_ are ids of objects at Stripe.

-- Packs and plans, edited by operators. Orders keep what they were sold for.
create table offers (
  id text primary key,
  kind text not null check (kind in ('pack', 'plan')),
  name text not null,
  credits bigint not null check (credits > 0),
  price bigint not null check (price > 0),
  currency text not null,
  -- How often a plan is paid.
  period text check (period in ('month', 'year')),
  -- After how many days the credits expire; null: never.
  expires_days integer check (expires_days > 0),
  active boolean not null default true,
  created_at timestamptz not null default clock_now(),
  check ((kind = 'plan') = (period is not null))
);

-- The terms behind each price at Stripe that a subscription may have. Rows never change.
create table plan_prices (
  stripe_price text primary key,
  stripe_product text not null,
  plan_id text not null references offers,
  credits bigint not null,
  price bigint not null,
  currency text not null,
  period text not null,
  expires_days integer
);
create index plan_prices_plan on plan_prices (plan_id);

-- The configuration of the Customer Portal for a set of plans.
create table portal_configurations (
  digest text primary key,
  stripe_configuration text not null
);

-- What an account has at Stripe, and what it wants to happen when its credits run low.
create table billing_accounts (
  account_id text primary key references accounts,
  stripe_customer text unique,
  -- A mail is sent when the available paid credits fall below this; null: none.
  alert_below bigint check (alert_below > 0),
  -- When the mail of the present shortage was sent; null: there is no shortage.
  alerted_at timestamptz,
  -- The pack that is bought when the available paid credits fall below reload_below; null: none.
  reload_pack text references offers,
  reload_below bigint check (reload_below > 0),
  -- The most that is spent so in a calendar month (UTC).
  reload_limit bigint check (reload_limit > 0),
  -- Why no pack is bought any more until the customer switches it on again.
  reload_stopped text,
  -- When the customer was told so.
  reload_stop_told_at timestamptz,
  check ((reload_pack is null) = (reload_below is null)),
  check ((reload_pack is null) = (reload_limit is null))
);
create index billing_accounts_watched on billing_accounts (account_id)
  where alert_below is not null or reload_pack is not null;

create table subscriptions (
  id text primary key,
  account_id text not null references accounts,
  plan_id text not null references offers,
  stripe_checkout text unique,
  checkout_url text,
  stripe_subscription text unique,
  -- opening: Checkout is not completed. expired: it never was. Otherwise the word of Stripe.
  state text not null default 'opening',
  renews_at timestamptz,
  -- When it ends, if it was canceled.
  ends_at timestamptz,
  revision bigint not null default 0,
  -- When Stripe is asked next; null: only if an event says so.
  due_at timestamptz default clock_now() + interval '1 minute',
  settled_at timestamptz,
  created_at timestamptz not null default clock_now()
);
create unique index subscriptions_one_live on subscriptions (account_id)
  where state not in ('canceled', 'incomplete_expired', 'expired');
create index subscriptions_due on subscriptions (due_at) where due_at is not null;

create table orders (
  id text primary key,
  account_id text not null references accounts,
  -- pack: by Checkout. reload: a pack bought automatically. invoice: an invoice of a subscription.
  kind text not null check (kind in ('pack', 'reload', 'invoice')),
  offer_id text not null references offers,
  subscription_id text references subscriptions,
  -- What was sold, for how much: never changes.
  credits bigint not null check (credits > 0),
  price bigint not null check (price >= 0),
  currency text not null,
  expires_days integer,
  -- The Checkout session, the payment intent, or the invoice; null: not known to be opened.
  stripe_id text unique,
  checkout_url text,
  -- mismatched: another amount or currency was paid.
  state text not null default 'pending'
    check (state in ('pending', 'paid', 'failed', 'expired', 'mismatched')),
  -- The payment intent, and what was paid in all, with taxes.
  stripe_payment text,
  amount bigint,
  refunded bigint not null default 0,
  -- What a dispute takes now; dispute: Stripe's word for its state.
  disputed bigint not null default 0,
  dispute text,
  receipt_url text,
  failure text,
  -- The credits that are booked, by so many movements: order:ID:1, order:ID:2...
  booked bigint not null default 0 check (booked >= 0 and booked <= credits),
  movements integer not null default 0,
  expires_at timestamptz,
  revision bigint not null default 0,
  due_at timestamptz default clock_now() + interval '1 minute',
  paid_at timestamptz,
  settled_at timestamptz,
  created_at timestamptz not null default clock_now()
);
create index orders_account on orders (account_id, created_at, id);
create index orders_created on orders (created_at, id);
create index orders_payment on orders (stripe_payment);
create index orders_due on orders (due_at) where due_at is not null;
create index orders_disputed on orders (created_at, id) where dispute is not null;
create unique index orders_one_reload on orders (account_id) where kind = 'reload' and state = 'pending';

-- Events of Stripe that were received: each wakes its order or subscription once.
create table stripe_events (
  id text primary key,
  type text not null,
  received_at timestamptz not null default clock_now()
);
create index stripe_events_received on stripe_events (received_at);
