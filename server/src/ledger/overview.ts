import { type Database, type Queryable, queryValue, statement } from '../database/database.ts';
import { bringUpToDate, readLots } from './lots.ts';
import type { BalanceKind, CreditKind } from './transfer.ts';

export interface KindBalances {
  available: number;
  reserved: number;
}

interface KindOverview extends KindBalances {
  /** Credits taken back after they were spent or reserved, and not paid yet. */
  debt: number;
}

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

const READ = statement(
  'ledger_balances',
  'select kind, available, reserved, debt from ledger_balances where account_id = $1',
);

export async function readKinds(
  db: Queryable,
  accountId: string,
): Promise<Map<BalanceKind, KindOverview>> {
  const rows = await db.query<KindOverview & { kind: BalanceKind }>(READ, [accountId]);
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

const AVAILABLE = statement(
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
  if (rows.length === 0) return [];
  const read = await db.query<{ account_id: string; kind: CreditKind; available: number }>(
    AVAILABLE,
    [rows.map((row) => row.account_id)],
  );
  const available = new Map(read.map((row) => [`${row.account_id} ${row.kind}`, row.available]));
  const of = (id: string, kind: CreditKind) => available.get(`${id} ${kind}`) ?? 0;
  return rows.map((row) => ({
    ...row,
    available: {
      paid: of(row.account_id, 'paid'),
      promotional: of(row.account_id, 'promotional'),
    },
  }));
}

/** Brings the balances of an account up to date and reads them. */
export function readOverview(db: Database, accountId: string): Promise<CreditOverview> {
  return db.transaction(async (tx) => {
    const lots: LotOverview[] = [];
    for (const kind of ['paid', 'promotional'] as const) {
      await bringUpToDate(tx, { accountId, kind });
      lots.push(...(await lotsOf(tx, accountId, kind)));
    }
    return { ...(await readBalances(tx, accountId)), lots };
  });
}

async function lotsOf(tx: Queryable, accountId: string, kind: CreditKind): Promise<LotOverview[]> {
  const lots = await readLots(tx, accountId, kind);
  return lots.map(({ name: lot, available, reserved, expiresAt: expires_at }) => {
    return { kind, lot, available, reserved, expires_at };
  });
}

/** When live credits were last granted or adjusted; null: never. */
export const lastGrantAt = queryValue<[], Date | null>(
  'ledger_last_grant',
  `select created_at as at from ledger_transfers
   where reference not like 'reserve:%' and reference not like 'settle:%' and kind <> 'test'
   order by id desc limit 1`,
  null,
);
