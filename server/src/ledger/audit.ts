import { type Queryable, statement } from '../kernel/database.ts';

const UNBALANCED = statement(
  'audit_unbalanced',
  `select a.account_id, a.kind, s.side, s.balance, s.total from ledger_accounts a
   cross join lateral (
     select side, balance, coalesce(sum(
       case when side = t.target then t.credits when side = t.source then -t.credits else 0 end
         * case when side = 'granted' then -1 else 1 end), 0) as total
     from (values ('granted', a.granted), ('available', a.available), ('held', a.held),
       ('spent', a.spent)) as sides (side, balance)
     left join ledger_transfers t on t.account_id = a.account_id and t.kind = a.kind
     group by side, balance) s
   where s.balance <> s.total`,
);

const DRIFTED = statement(
  'audit_drifted',
  `select account_id, kind, id from (
     select account_id, kind, id, available_after,
       sum(case when target = 'available' then credits when source = 'available' then -credits
         else 0 end) over (partition by account_id, kind order by id) as running
     from ledger_transfers) steps
   where running <> available_after`,
);

const MISSETTLED = statement(
  'audit_missettled',
  `select task_id from task_holds where settled <> credits`,
);

const UNHELD = statement(
  'audit_unheld',
  `select reference from ledger_transfers where reference like 'settle:%'
   and not exists (select from task_holds h where h.task_id = substr(reference, 8))`,
);

/**
 * Proves the books within the caller's snapshot: the transfers sum to every balance, the balance
 * noted with each transfer follows from those before it, and each settlement answers its hold.
 * @returns one sentence for each thing that is wrong; none when the books are right
 */
export async function auditLedger(tx: Queryable): Promise<string[]> {
  const unbalanced = await tx.query<Record<string, string>>(UNBALANCED);
  const drifted = await tx.query<Record<string, string>>(DRIFTED);
  const missettled = await tx.query<{ task_id: string }>(MISSETTLED);
  const unheld = await tx.query<{ reference: string }>(UNHELD);
  return [
    ...unbalanced.map(
      (row) =>
        `${row.account_id}: ${row.kind} ${row.side} is ${row.balance}, its transfers sum to ${row.total}`,
    ),
    ...drifted.map(
      (row) => `${row.account_id}: transfer ${row.id} notes a wrong ${row.kind} balance`,
    ),
    ...missettled.map((row) => `${row.task_id}: settled for another sum than was held`),
    ...unheld.map((row) => `${row.reference}: settled without a hold`),
  ];
}
