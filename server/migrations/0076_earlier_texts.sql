-- oldest-program: 0013
-- Files that were edited after they had run somewhere (src/database/migration/earlier-checksums.ts):
-- brings the schema of their earlier texts to that of the present ones. Other databases lock nothing.
do $$
declare
  edited name;
  had_index boolean;
begin
  -- 0044: an order that is not paid yet was `open`. Its index is built here, so that there is no moment
  -- without it, unless 0063 has replaced it. This text was there for half an hour, so the table is small.
  if exists (select from pg_constraint where conname = 'orders_state_check'
      and conrelid = 'orders'::regclass and pg_get_constraintdef(oid) like '%''open''%') then
    alter table orders drop constraint orders_state_check;
    had_index := to_regclass('orders_one_reload') is not null;
    drop index if exists orders_one_reload;
    update orders set state = 'pending' where state = 'open';
    alter table orders alter column state set default 'pending', add constraint orders_state_check
      check (state in ('pending', 'paid', 'failed', 'expired', 'mismatched'));
    if had_index then
      create unique index orders_one_reload on orders (account_id)
        where kind = 'reload' and state = 'pending';
    end if;
  end if;

  -- 0009: the constraints kept the table's former name.
  for edited in select conname from pg_constraint
      where conrelid = 'ledger_balances'::regclass and conname like 'ledger\_accounts\_%' loop
    execute format('alter table ledger_balances rename constraint %I to %I',
      edited, replace(edited, 'ledger_accounts_', 'ledger_balances_'));
  end loop;

  -- 0008: two columns came later. Their indexes are in 0077.
  if not exists (select from pg_attribute
      where attrelid = 'attempts'::regclass and attname = 'provider_identity') then
    alter table attempts add column provider_identity text;
  end if;
  if not exists (select from pg_attribute
      where attrelid = 'orphan_jobs'::regclass and attname = 'reported_at') then
    alter table orphan_jobs add column reported_at timestamptz;
  end if;
end $$;
