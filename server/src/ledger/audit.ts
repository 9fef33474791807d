import { type Queryable, statement } from '../database/database.ts';

const UNBALANCED = statement(
  'audit_unbalanced',
  `select a.account_id, a.kind, s.side, s.balance, s.total from ledger_balances a
   cross join lateral (
     select side, balance, coalesce(sum(
       case when side = t.target then t.credits when side = t.source then -t.credits else 0 end
         * case when side = 'granted' then -1 else 1 end), 0) as total
     from (values ('granted', a.granted), ('available', a.available), ('reserved', a.reserved),
       ('spent', a.spent)) as sides (side, balance)
     left join ledger_transfers t on t.account_id = a.account_id and t.kind = a.kind
     group by side, balance) s
   where s.balance <> s.total`,
);

const DRIFTED = statement(
  'audit_drifted',
  `select account_id, kind, id from (
     select account_id, kind, id, available_after, reserved_after,
       sum(case when target = 'available' then credits when source = 'available' then -credits
         else 0 end) over so_far as available,
       sum(case when target = 'reserved' then credits when source = 'reserved' then -credits
         else 0 end) over so_far as reserved
     from ledger_transfers window so_far as (partition by account_id, kind order by id)) steps
   where available <> available_after or reserved <> reserved_after`,
);

const MISDIRECTED = statement(
  'audit_misdirected',
  `select reference, reason, kind, source, target from ledger_transfers
   where (reason, source, target) not in (
       ('grant', 'granted', 'available'),
       ('adjust', 'granted', 'available'), ('adjust', 'available', 'granted'),
       ('reserve', 'available', 'reserved'),
       ('capture', 'reserved', 'spent'), ('refund', 'reserved', 'available'))
     or (kind <> 'paid' and reason in ('reserve', 'capture', 'refund'))`,
);

const MISSETTLED = statement(
  'audit_missettled',
  `select substr(r.reference, 9) as task_id from ledger_transfers r
   join ledger_transfers s on s.reference = 'settle:' || substr(r.reference, 9)
   where r.reason = 'reserve'
     and (s.account_id, s.kind, s.credits) <> (r.account_id, r.kind, r.credits)`,
);

const UNRESERVED = statement(
  'audit_unreserved',
  `select reference from ledger_transfers where reference like 'settle:%'
   and not exists (select from task_reservations r where r.task_id = substr(reference, 8))`,
);

/**
 * Checks the ledger within the caller's snapshot: the transfers sum to every balance, the balances
 * noted with each transfer follow from the transfers before it, each transfer has the source and
 * target of its reason, and each settlement has the account and sum of its reservation.
 * @returns one sentence per problem; an empty array when the ledger is right
 */
export async function auditLedger(tx: Queryable): Promise<string[]> {
  const unbalanced = await tx.query<Record<string, string>>(UNBALANCED);
  const drifted = await tx.query<Record<string, string>>(DRIFTED);
  const misdirected = await tx.query<Record<string, string>>(MISDIRECTED);
  const missettled = await tx.query<{ task_id: string }>(MISSETTLED);
  const unreserved = await tx.query<{ reference: string }>(UNRESERVED);
  return [
    ...unbalanced.map(
      (row) =>
        `${row.account_id}: ${row.kind} ${row.side} is ${row.balance}, transfers say ${row.total}`,
    ),
    ...drifted.map(
      (row) => `${row.account_id}: transfer ${row.id} notes a wrong ${row.kind} balance`,
    ),
    ...misdirected.map(
      (row) =>
        `${row.reference}: a ${row.reason}, ${row.kind}, from ${row.source} to ${row.target}`,
    ),
    ...missettled.map(
      (row) => `${row.task_id}: settled for another sum or account than was reserved`,
    ),
    ...unreserved.map((row) => `${row.reference}: settled without a reservation`),
  ];
}
