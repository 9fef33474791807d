-- oldest-program: 0013
-- transaction: none
alter table ledger_balances validate constraint debt_not_negative;
alter table ledger_balances validate constraint double_entry;
alter table ledger_transfers validate constraint ledger_transfers_source_check;
alter table ledger_transfers validate constraint ledger_transfers_target_check;
alter table ledger_transfers validate constraint ledger_transfers_reason_check;
create index concurrently ledger_balances_lots_due on ledger_balances (lots_due_at) where lots_due_at is not null;
create index concurrently ledger_balances_debts on ledger_balances (account_id) where debt > 0;
