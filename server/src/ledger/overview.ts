import { type Database, type Queryable, query, queryValue } from '../database/database.ts';
import { bringUpToDate, readLots } from './lots.ts';
import type { BalanceKind, CreditKind } from './transfer.ts';

export interface KindBalances {
  available: number;
  reserved: number;
}

/** `debt`: credits taken back after they were spent or reserved, and not paid yet. */
type KindOverview = KindBalances & { debt: number };

interface LotOverview {
  kind: CreditKind;
  /** The name of the lot: grant:REFERENCE, or settle:TASK/LOT if it is a grace lot. */
  lot: string;
  available: number;
  reserved: number;
  expires_at: Date;
}

export interface CreditOverview extends Record<CreditKind, KindOverview> {
  /** Only lots that have credits. */
  lots: LotOverview[];
}

const read = query<[accountId: string], KindOverview & { kind: BalanceKind }>(
  'ledger_balances',
  'select kind, available, reserved, debt from ledger_balances where account_id = $1',
);

export async function readKinds(
  db: Queryable,
  accountId: string,
): Promise<Map<BalanceKind, KindOverview>> {
  const rows = await read(db, accountId);
  return new Map(rows.map(({ kind, ...balance }) => [kind, balance]));
}

/** Recorded balances; {@link readOverview} brings them up to date. */
export async function readBalances(
  db: Queryable,
  accountId: string,
): Promise<Record<CreditKind, KindOverview>> {
  const found = await readKinds(db, accountId);
  const [paid, promotional] = [found.get('paid'), found.get('promotional')];
  if (!paid || !promotional) throw new Error(`account ${accountId} lacks a balance`);
  return { paid, promotional };
}

const availableOf = query<
  [accountIds: string[]],
  { account_id: string; kind: CreditKind; available: number }
>(
  'ledger_available_of_accounts',
  'select account_id, kind, available from ledger_balances where account_id = any($1)',
);

/**
 * Adds its account's recorded available credits to each row. Expired credits count until a worker
 * or {@link readOverview} brings the balance up to date.
 */
export async function withAvailable<Row extends { account_id: string }>(
  db: Queryable,
  rows: Row[],
): Promise<(Row & { available: Record<CreditKind, number> })[]> {
  const found = await availableOf(
    db,
    rows.map((row) => row.account_id),
  );
  const available = new Map(found.map((row) => [`${row.account_id} ${row.kind}`, row.available]));
  return rows.map((row) => {
    const amount = (kind: CreditKind) => available.get(`${row.account_id} ${kind}`) ?? 0;
    return { ...row, available: { paid: amount('paid'), promotional: amount('promotional') } };
  });
}

/** Brings the balances of an account up to date and reads them. */
export function readOverview(db: Database, accountId: string): Promise<CreditOverview> {
  return db.transaction(async (tx) => {
    const lots: LotOverview[] = [];
    for (const kind of ['paid', 'promotional'] as const) {
      await bringUpToDate(tx, { accountId, kind });
      for (const { name: lot, expiresAt, ...credits } of await readLots(tx, accountId, kind)) {
        const { available, reserved } = credits;
        lots.push({ kind, lot, available, reserved, expires_at: expiresAt });
      }
    }
    return { ...(await readBalances(tx, accountId)), lots };
  });
}

/** When live credits last moved, other than for a task; null: never. */
export const lastGrantAt = queryValue<[], Date | null>(
  'ledger_last_grant',
  `select created_at as at from ledger_transfers
   where reference not like 'reserve:%' and reference not like 'settle:%' and kind <> 'test'
   order by id desc limit 1`,
  null,
);
