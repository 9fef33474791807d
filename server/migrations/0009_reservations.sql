-- Credits are reserved; "held" is only for tasks. A customer's credits of one kind are a balance.
alter table ledger_accounts rename to ledger_balances;
alter table ledger_balances rename column held to reserved;
alter table ledger_balances rename constraint held_not_negative to reserved_not_negative;
alter table ledger_balances rename constraint ledger_accounts_pkey to ledger_balances_pkey;
alter table ledger_balances rename constraint ledger_accounts_kind_check to ledger_balances_kind_check;
alter table ledger_balances rename constraint ledger_accounts_account_id_fkey to ledger_balances_account_id_fkey;

alter table ledger_transfers rename column held_after to reserved_after;
alter table ledger_transfers rename constraint ledger_transfers_account_id_kind_fkey to ledger_transfers_balance;
alter table ledger_transfers drop constraint ledger_transfers_source_check,
  drop constraint ledger_transfers_target_check, drop constraint ledger_transfers_reason_check;

drop view task_holds;
-- Only words change in the append-only table, never a sum, an account or the order. The trigger is off
-- within this file's transaction only, which locks the table.
alter table ledger_transfers disable trigger append_only;
update ledger_transfers set
  source = case source when 'held' then 'reserved' else source end,
  target = case target when 'held' then 'reserved' else target end,
  reason = case reason when 'hold' then 'reserve' else reason end,
  reference = case reason when 'hold' then 'reserve:' || substr(reference, 6) else reference end
  where 'held' in (source, target);
alter table ledger_transfers enable trigger append_only;

alter table ledger_transfers
  add constraint ledger_transfers_source_check check (source in ('granted', 'available', 'reserved')),
  add constraint ledger_transfers_target_check
    check (target in ('granted', 'available', 'reserved', 'spent')),
  add constraint ledger_transfers_reason_check
    check (reason in ('grant', 'adjust', 'reserve', 'capture', 'refund'));

-- What code outside the ledger may read: each task's reservation and how it was settled (null: not yet).
create view task_reservations as
  select substr(r.reference, 9) as task_id, r.account_id, r.credits, s.reason as outcome, s.credits as settled
  from ledger_transfers r
  left join ledger_transfers s on s.reference = 'settle:' || substr(r.reference, 9)
  where r.reason = 'reserve';
