import { type Database, namedStatement, type Queryable, query } from '../database/database.ts';
import { bringUpToDate } from './lots.ts';
import type { BalanceKind, BalanceName, Reason } from './transfer.ts';

/** A transfer as a statement of account shows it, with the balances after it. */
export interface Movement {
  at: Date;
  kind: BalanceKind;
  reason: Reason;
  credits: number;
  from: BalanceName;
  to: BalanceName;
  /** For a reserve and its settlement. */
  task_id: string | null;
  reference: string;
  note: string | null;
  expires_at: Date | null;
  available_after: number;
  reserved_after: number;
  debt_after: number;
}

export const MOVEMENT_COLUMNS: readonly (keyof Movement)[] = [
  'at',
  'kind',
  'reason',
  'credits',
  'from',
  'to',
  'task_id',
  'reference',
  'note',
  'expires_at',
  'available_after',
  'reserved_after',
  'debt_after',
];

const COLUMNS = `id, created_at as at, kind, reason, credits, source as "from", target as "to",
     case when reason in ('reserve', 'capture', 'refund')
       then split_part(reference, ':', 2) end as task_id,
     reference, note, expires_at, available_after`;

type Balances = Record<'available' | 'reserved' | 'debt', number>;

interface KindTotals {
  kind: BalanceKind;
  movements: number;
  /** The balances before the first movement, and after the last one. */
  opening: Balances;
  closing: Balances;
  /** Credits by reason; an adjustment is `adjust_up` or `adjust_down`. */
  credits: Record<string, number>;
}

interface Period {
  kinds: readonly BalanceKind[];
  /** undefined: from the first one. */
  from: Date | undefined;
  /** Exclusive; undefined: up to now. */
  until: Date | undefined;
}

/** Brings the balances up to date and reads their movements, kind by kind, oldest first. */
export async function openStatement(db: Database, accountId: string, period: Period) {
  for (const kind of period.kinds) {
    if (kind === 'test') continue; // it is never out of date, and not every account has one
    await db.transaction((tx) => bringUpToDate(tx, { accountId, kind }));
  }
  const totals = period.kinds.map((kind): KindTotals => {
    const zero = { available: 0, reserved: 0, debt: 0 };
    return { kind, movements: 0, opening: zero, closing: zero, credits: {} };
  });
  return {
    /** Reads from the database page by page. Can be iterated once. */
    movements: readAll(db, accountId, period, totals),
    /** The totals of the movements that were read. */
    totals: () => totals,
  };
}

async function* readAll(
  db: Queryable,
  accountId: string,
  period: Period,
  totals: KindTotals[],
): AsyncGenerator<Movement> {
  for (const sums of totals) {
    let debt = 0;
    for await (const row of readRows(db, accountId, sums.kind)) {
      debt += row.credits * (Number(row.from === 'debt') - Number(row.to === 'debt'));
      const { available_after: available, reserved_after: reserved, at } = row;
      if (period.until && at >= period.until) continue;
      sums.closing = { available, reserved, debt };
      if (period.from && at < period.from) {
        sums.opening = sums.closing;
        continue;
      }
      count(sums, row);
      yield { ...row, debt_after: debt };
    }
  }
}

function count(sums: KindTotals, { reason, from, credits }: Row): void {
  const adjusted = from === 'available' ? 'adjust_down' : 'adjust_up';
  const name = reason === 'adjust' ? adjusted : reason;
  sums.movements += 1;
  sums.credits[name] = (sums.credits[name] ?? 0) + credits;
}

const PAGE = 1000;

type Row = Omit<Movement, 'debt_after'>;

const READ = namedStatement(
  'ledger_movements',
  `select ${COLUMNS}, reserved_after from ledger_transfers
   where account_id = :accountId and kind = :kind and id > :after
   order by id limit ${PAGE}`,
);

async function* readRows(db: Queryable, accountId: string, kind: BalanceKind): AsyncGenerator<Row> {
  for (let after = 0; ; ) {
    const rows = await db.query<Row & { id: number }>(
      READ,
      READ.values({ accountId, kind, after }),
    );
    for (const { id, ...row } of rows) {
      after = id;
      yield row;
    }
    if (rows.length < PAGE) return;
  }
}

/** A movement of a page. The next page begins `before` the last one's `id`. */
export interface PagedMovement extends Omit<Movement, 'reserved_after' | 'debt_after'> {
  id: number;
}

// The index orders each kind separately.
const READ_PAGE = namedStatement(
  'ledger_movement_page',
  `select ${COLUMNS} from ledger_transfers where id = any(array(
     select t.id from unnest(:kinds::text[]) as wanted (kind), lateral (
       select id from ledger_transfers
       where account_id = :accountId and kind = wanted.kind
         and id < coalesce(:before::bigint, 9223372036854775807)
         and (:reasons::text[] is null or reason = any(:reasons))
         and (:from::timestamptz is null or created_at >= :from)
         and (:until::timestamptz is null or created_at < :until)
       order by id desc limit :limit) t
     order by t.id desc limit :limit))
   order by id desc`,
);

export function movementPage(
  db: Database,
  accountId: string,
  wanted: {
    kinds: readonly BalanceKind[];
    /** null: all. */
    reasons: readonly Reason[] | null;
    from: Date | null; // inclusive
    until: Date | null; // exclusive
    /** null: from the newest on. */
    before: number | null;
    limit: number;
  },
): Promise<PagedMovement[]> {
  return db.query<PagedMovement>(READ_PAGE, READ_PAGE.values({ ...wanted, accountId }));
}

export type TaskMovement = Pick<Movement, 'at' | 'kind' | 'reason' | 'credits'>;

/** Every movement of a task's credits, of all kinds, in order. */
export const taskMovements = query<[accountId: string, taskId: string], TaskMovement>(
  'ledger_task_movements',
  `select created_at as at, kind, reason, credits from ledger_transfers
   where account_id = $1 and reference = any(array['reserve:' || $2::text,
     'reserve:' || $2::text || ':promotional', 'reserve:' || $2::text || ':test',
     'settle:' || $2::text, 'settle:' || $2::text || ':promotional',
     'settle:' || $2::text || ':test'])
   order by id`,
);
