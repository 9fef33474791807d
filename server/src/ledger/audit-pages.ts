import { type Queryable, type Statement, statement } from '../database/database.ts';

export type Report = (problem: string) => void;

/** Reports the rows of a statement that finds problems. */
export async function runCheck(
  tx: Queryable,
  check: Statement,
  { values, report }: { values: unknown[]; report: Report },
): Promise<void> {
  for (const { problem } of await tx.query<{ problem: string }>(check, values)) report(problem);
}

const END = statement(
  'audit_transfer_page',
  `select max(id) as through, count(*)::int as transfers
   from (select id from ledger_transfers where id > $1 order by id limit $2) page`,
);

/** @returns `through`: the page's last transfer; `next`: the cursor of the next page, null: none */
export async function transferPage(tx: Queryable, after: number, limit: number) {
  const [end] = await tx.query<{ through: number | null; transfers: number }>(END, [after, limit]);
  const through = end?.through ?? after;
  return { through, next: end && end.transfers === limit ? through : null };
}
