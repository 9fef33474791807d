-- oldest-program: 0013
-- transaction: none
alter table ledger_balances validate constraint ledger_balances_kind_check;
alter table tasks validate constraint test_credits_are_settled;
alter table tasks validate constraint test_tasks_are_scripted;
