-- oldest-program: 0013
-- Invoices and payments at Stripe that an operator asked about, since no order has them. A worker
-- looks for the order, or makes it. Old rows are deleted.
create table payment_looks (
  stripe_id text primary key,
  asked_at timestamptz not null default clock_now(),
  -- When a worker looks; null: it has.
  due_at timestamptz default clock_now(),
  -- What it found: an order, or why there is none.
  order_id text references orders,
  answer text
);
create index payment_looks_due on payment_looks (due_at) where due_at is not null;
create index payment_looks_asked on payment_looks (asked_at);
