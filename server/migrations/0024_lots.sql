-- oldest-program: 0013
-- Lots of credits that expire, and debts (docs/decisions/0018-lots.md). The program before this file
-- keeps working: it names no new column, and each new constraint allows what the old one allowed.

-- debt: credits that were taken back after they were spent or reserved. Like granted, it is a contra
-- account. lots_through: the newest transfer that ledger_lots contains. lots_due_at: from then on, the
-- lots must be brought up to date before credits are reserved; null without lots that have credits.
alter table ledger_balances
  add column debt bigint not null default 0,
  add column lots_through bigint,
  add column lots_due_at timestamptz,
  add constraint debt_not_negative check (debt >= 0) not valid,
  drop constraint double_entry,
  add constraint double_entry check (granted + debt = available + reserved + spent) not valid;

-- expires_at: of a grant that makes a lot. origin: the grant whose credits an expiry or a clawback takes.
alter table ledger_transfers
  add column expires_at timestamptz,
  add column origin bigint,
  drop constraint ledger_transfers_source_check,
  drop constraint ledger_transfers_target_check,
  drop constraint ledger_transfers_reason_check,
  add constraint ledger_transfers_source_check
    check (source in ('granted', 'available', 'reserved', 'debt')) not valid,
  add constraint ledger_transfers_target_check
    check (target in ('granted', 'available', 'reserved', 'spent', 'debt')) not valid,
  add constraint ledger_transfers_reason_check check (reason in
    ('grant', 'adjust', 'reserve', 'capture', 'refund', 'expire', 'clawback', 'repay')) not valid;

-- Both tables follow from the transfers and are made from them, account by account (ledger/lots.ts).
-- A lot is named after what made it: grant:REFERENCE, or settle:TASK/LOT for credits that came back
-- after their lot had expired.
create table ledger_lots (
  name text primary key,
  account_id text not null,
  kind text not null,
  grant_id bigint not null,
  made_by bigint not null,
  expires_at timestamptz not null,
  available bigint not null constraint lot_available_not_negative check (available >= 0),
  reserved bigint not null constraint lot_reserved_not_negative check (reserved >= 0),
  expired_at timestamptz,
  foreign key (account_id, kind) references ledger_balances
);
create index ledger_lots_balance on ledger_lots (account_id, kind);

-- What each transfer added to the available credits of a lot, or took from them.
create table ledger_lot_movements (
  transfer_id bigint not null,
  lot text not null references ledger_lots,
  credits bigint not null check (credits <> 0),
  primary key (transfer_id, lot)
);
create index ledger_lot_movements_lot on ledger_lot_movements (lot);
