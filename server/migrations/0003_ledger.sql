-- Four ledger accounts for each account and kind of credits, kept as the columns of one row, so that
-- one row lock orders all movements of a customer and no row is shared between customers.
-- granted is the contra account: what was ever given, less what was taken back.
create table ledger_accounts (
  account_id text not null references accounts,
  kind text not null check (kind in ('paid', 'promotional')),
  granted bigint not null default 0,
  available bigint not null default 0 constraint available_not_negative check (available >= 0),
  held bigint not null default 0 constraint held_not_negative check (held >= 0),
  spent bigint not null default 0 constraint spent_not_negative check (spent >= 0),
  primary key (account_id, kind),
  constraint double_entry check (granted = available + held + spent)
) with (fillfactor = 50);

-- Append-only: every movement, from one ledger account to another. The unique reference makes a
-- movement happen once: settle:<task> is shared by capture and refund.
create table ledger_transfers (
  id bigint generated always as identity primary key,
  account_id text not null,
  kind text not null,
  source text not null check (source in ('granted', 'available', 'held')),
  target text not null check (target in ('granted', 'available', 'held', 'spent')),
  credits bigint not null check (credits > 0),
  reason text not null check (reason in ('grant', 'adjust', 'hold', 'capture', 'refund')),
  reference text not null unique,
  note text,
  available_after bigint not null,
  held_after bigint not null,
  created_at timestamptz not null default clock_now(),
  foreign key (account_id, kind) references ledger_accounts,
  check (source <> target)
);
create index ledger_transfers_account on ledger_transfers (account_id, kind, id);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'ledger_transfers is append-only';
end $$;
create trigger append_only before update or delete on ledger_transfers
  for each statement execute function refuse_change();

-- What other rooms may read of the ledger: each task's hold and how it was settled (null: it still is held).
create view task_holds as
  select substr(h.reference, 6) as task_id, h.account_id, h.credits, s.reason as outcome, s.credits as settled
  from ledger_transfers h
  left join ledger_transfers s on s.reference = 'settle:' || substr(h.reference, 6)
  where h.reason = 'hold';
