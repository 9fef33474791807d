-- oldest-program: 0013
-- Test credits are a third kind. An account has a balance of them once it has a test key.
alter table ledger_balances
  drop constraint ledger_balances_kind_check,
  add constraint ledger_balances_kind_check check (kind in ('paid', 'promotional', 'test')) not valid;
