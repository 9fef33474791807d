import {
  type Database,
  type Queryable,
  queryFirst,
  type Statement,
  type Transaction,
} from '../database/database.ts';

export type Report = (problem: string) => void;

export async function runCheck(
  tx: Queryable,
  check: Statement,
  { values, report }: { values: unknown[]; report: Report },
): Promise<void> {
  for (const { problem } of await tx.query<{ problem: string }>(check, values)) report(problem);
}

/** Reads rows in the order of their ids, page by page, each in a snapshot of its own. */
export async function checkPages(
  db: Pick<Database, 'snapshot'>,
  size: number,
  checkPage: (tx: Transaction, after: string) => Promise<string[]>,
): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const begin: string = after;
    const ids = await db.snapshot((tx) => checkPage(tx, begin));
    after = ids.length < size ? undefined : ids.at(-1);
  }
}

const endOfPage = queryFirst<
  [after: number, limit: number],
  { through: number; transfers: number }
>(
  'audit_transfer_page',
  `select coalesce(max(id), $1) as through, count(*)::int as transfers
   from (select id from ledger_transfers where id > $1 order by id limit $2) page`,
);

/** Like {@link checkPages}, for transfers. A page has the ids above `after`, up to `through`. */
export async function checkTransferPages(
  db: Pick<Database, 'snapshot'>,
  size: number,
  checkPage: (tx: Transaction, range: [after: number, through: number]) => Promise<void>,
): Promise<void> {
  for (let after: number | undefined = 0; after !== undefined; ) {
    const begin: number = after;
    after = await db.snapshot(async (tx) => {
      const end = await endOfPage(tx, begin, size);
      if (end) await checkPage(tx, [begin, end.through]);
      return end?.transfers === size ? end.through : undefined;
    });
  }
}
