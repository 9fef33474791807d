import { type Queryable, statement } from '../database/database.ts';

const END = statement(
  'audit_transfer_page',
  `select max(id) as through, count(*)::int as transfers
   from (select id from ledger_transfers where id > $1 order by id limit $2) page`,
);

/**
 * A page of all transfers, for audits.
 * @returns `through`: its last transfer; `next`: that after which the next page begins, null: none
 */
export async function transferPage(tx: Queryable, after: number, limit: number) {
  const [end] = await tx.query<{ through: number | null; transfers: number }>(END, [after, limit]);
  const through = end?.through ?? after;
  return { through, next: end && end.transfers === limit ? through : null };
}
