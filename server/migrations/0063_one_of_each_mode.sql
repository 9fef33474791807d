-- oldest-program: 0013
-- transaction: none
-- What is open in test mode does not keep an account from buying in live mode.
create unique index concurrently orders_one_reload_of_mode on orders
  (account_id, coalesce(stripe_mode, ''), coalesce(stripe_account, ''))
  where kind = 'reload' and state = 'pending';
create unique index concurrently subscriptions_one_live_of_mode on subscriptions
  (account_id, coalesce(stripe_mode, ''), coalesce(stripe_account, ''))
  where state not in ('canceled', 'incomplete_expired', 'expired');
drop index concurrently if exists orders_one_reload;
drop index concurrently if exists subscriptions_one_live;
