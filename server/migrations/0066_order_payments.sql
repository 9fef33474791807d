-- oldest-program: 0013
-- The payments of an invoice that was paid in parts, beside orders.stripe_payment: their events
-- wake the order.
create table order_payments (
  stripe_payment text not null,
  order_id text not null references orders,
  primary key (stripe_payment, order_id)
);
