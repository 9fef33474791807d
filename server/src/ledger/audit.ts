import { type Queryable, statement } from '../database/database.ts';
import { auditLots } from './audit-lots.ts';

const UNBALANCED = statement(
  'audit_unbalanced',
  `select a.account_id, a.kind, s.side, s.balance, s.total from ledger_balances a
   cross join lateral (
     select side, balance, coalesce(sum(
       case when side = t.target then t.credits when side = t.source then -t.credits else 0 end
         * case when side in ('granted', 'debt') then -1 else 1 end), 0) as total
     from (values ('granted', a.granted), ('available', a.available), ('reserved', a.reserved),
       ('spent', a.spent), ('debt', a.debt)) as sides (side, balance)
     left join ledger_transfers t on t.account_id = a.account_id and t.kind = a.kind
     group by side, balance) s
   where s.balance <> s.total`,
);

const WRONG_STORED_BALANCE = statement(
  'audit_wrong_stored_balance',
  `select account_id, kind, id from (
     select account_id, kind, id, available_after, reserved_after,
       sum(case when target = 'available' then credits when source = 'available' then -credits
         else 0 end) over so_far as available,
       sum(case when target = 'reserved' then credits when source = 'reserved' then -credits
         else 0 end) over so_far as reserved
     from ledger_transfers window so_far as (partition by account_id, kind order by id)) steps
   where available <> available_after or reserved <> reserved_after`,
);

const WRONG_DIRECTION = statement(
  'audit_wrong_direction',
  `select reference, reason, kind, source, target from ledger_transfers
   where (reason, source, target) not in (
       ('grant', 'granted', 'available'),
       ('adjust', 'granted', 'available'), ('adjust', 'available', 'granted'),
       ('reserve', 'available', 'reserved'),
       ('capture', 'reserved', 'spent'), ('refund', 'reserved', 'available'),
       ('expire', 'available', 'granted'), ('repay', 'available', 'debt'),
       ('clawback', 'available', 'granted'), ('clawback', 'debt', 'granted'))
     or (kind <> 'paid' and reason in ('reserve', 'capture', 'refund'))`,
);

const WRONG_SETTLEMENT = statement(
  'audit_wrong_settlement',
  `select substr(r.reference, 9) as task_id from ledger_transfers r
   join ledger_transfers s on s.reference = 'settle:' || substr(r.reference, 9)
   where r.reason = 'reserve'
     and (s.account_id, s.kind, s.credits) <> (r.account_id, r.kind, r.credits)`,
);

const WITHOUT_RESERVATION = statement(
  'audit_without_reservation',
  `select reference from ledger_transfers where reference like 'settle:%'
   and not exists (select from task_reservations r where r.task_id = substr(reference, 8))`,
);

/**
 * Checks the ledger within the caller's snapshot: the transfers add up to every balance; the
 * balances stored with each transfer result from it and the earlier transfers; each transfer has
 * the source and target of its reason; each settlement has the account, kind and amount of its
 * reservation; and what {@link auditLots} checks.
 * @returns one sentence per problem; an empty array if there is no problem
 */
export async function auditLedger(tx: Queryable): Promise<string[]> {
  const unbalanced = await tx.query<Record<string, string>>(UNBALANCED);
  const wronglyStored = await tx.query<Record<string, string>>(WRONG_STORED_BALANCE);
  const wrongDirections = await tx.query<Record<string, string>>(WRONG_DIRECTION);
  const wrongSettlements = await tx.query<{ task_id: string }>(WRONG_SETTLEMENT);
  const withoutReservation = await tx.query<{ reference: string }>(WITHOUT_RESERVATION);
  return [
    ...unbalanced.map(
      (row) =>
        `${row.account_id}: ${row.kind} ${row.side} is ${row.balance}, ` +
        `but its transfers add up to ${row.total}`,
    ),
    ...wronglyStored.map(
      (row) => `${row.account_id}: transfer ${row.id} stores a wrong ${row.kind} balance`,
    ),
    ...wrongDirections.map(
      (row) =>
        `${row.reference}: ${row.reason} must not move ${row.kind} credits ` +
        `from ${row.source} to ${row.target}`,
    ),
    ...wrongSettlements.map(
      (row) => `${row.task_id}: settled with another account, kind or amount than reserved`,
    ),
    ...withoutReservation.map((row) => `${row.reference}: settled without a reservation`),
    ...(await auditLots(tx)),
  ];
}
