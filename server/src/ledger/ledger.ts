import {
  type Database,
  namedStatement,
  type Queryable,
  statement,
  type Transaction,
  violatedConstraint,
} from '../database/database.ts';
import { ApiError, UsageError } from '../kernel/errors.ts';

/** The API spends paid credits only. It never changes promotional ones. */
export type CreditKind = 'paid' | 'promotional';

type BalanceName = 'granted' | 'available' | 'reserved' | 'spent';
type Reason = 'grant' | 'adjust' | 'reserve' | 'capture' | 'refund';

interface Transfer {
  accountId: string;
  kind: CreditKind;
  source: BalanceName;
  target: BalanceName;
  credits: number;
  reason: Reason;
  /** Unique in the whole ledger: the same transfer can't be booked twice. */
  reference: string;
  note?: string | undefined;
}

const TRANSFER = namedStatement(
  'ledger_transfer',
  ['accountId', 'kind', 'source', 'target', 'credits', 'reason', 'reference', 'note'],
  `with moved as (
     update ledger_balances set
       granted = granted
         + :credits::bigint * ((:source = 'granted')::int - (:target = 'granted')::int),
       available = available
         + :credits::bigint * ((:target = 'available')::int - (:source = 'available')::int),
       reserved = reserved
         + :credits::bigint * ((:target = 'reserved')::int - (:source = 'reserved')::int),
       spent = spent + :credits::bigint * ((:target = 'spent')::int - (:source = 'spent')::int)
     where account_id = :accountId and kind = :kind
     returning available, reserved)
   insert into ledger_transfers
     (account_id, kind, source, target, credits, reason, reference, note,
      available_after, reserved_after)
   select :accountId, :kind, :source, :target, :credits::bigint, :reason, :reference, :note,
     available, reserved from moved
   returning id`,
);

async function transfer(tx: Queryable, move: Transfer): Promise<void> {
  const rows = await tx.query(TRANSFER, TRANSFER.values({ ...move, note: move.note ?? null }));
  if (rows.length !== 1) throw new Error(`account ${move.accountId} has no ${move.kind} balance`);
}

const OPEN = statement(
  'ledger_open',
  `insert into ledger_balances (account_id, kind) values ($1, 'paid'), ($1, 'promotional')`,
);

/** Creates the balances of a new account, of both kinds, at zero. */
export async function openBalances(tx: Transaction, accountId: string): Promise<void> {
  await tx.query(OPEN, [accountId]);
}

/**
 * Reserves paid credits for a task. A check constraint of the database keeps `available` from going
 * below zero when several reserves run at once.
 * @throws ApiError `insufficient_credits`; the transaction is then aborted and can't commit
 */
export async function reserve(
  tx: Transaction,
  reservation: { accountId: string; taskId: string; credits: number },
): Promise<void> {
  const { accountId, taskId, credits } = reservation;
  const reference = `reserve:${taskId}`;
  const sides = { source: 'available', target: 'reserved' } as const;
  try {
    await transfer(tx, {
      accountId,
      kind: 'paid',
      ...sides,
      credits,
      reason: 'reserve',
      reference,
    });
  } catch (error) {
    if (violatedConstraint(error) !== 'available_not_negative') throw error;
    throw new ApiError('insufficient_credits', 'Not enough paid credits for this request.', {
      details: { required_credits: credits },
    });
  }
}

/**
 * Settles a reservation: `capture` spends it, `refund` makes it available again. Both use the same
 * reference, so a task has at most one of them.
 * @throws pg's DatabaseError (`violatedConstraint`) when the task is already settled
 */
export async function settle(
  tx: Transaction,
  settlement: {
    accountId: string;
    taskId: string;
    credits: number;
    outcome: 'capture' | 'refund';
  },
): Promise<void> {
  const { accountId, taskId, credits, outcome } = settlement;
  const target = outcome === 'capture' ? 'spent' : 'available';
  const reference = `settle:${taskId}`;
  const sides = { source: 'reserved', target } as const;
  await transfer(tx, { accountId, kind: 'paid', ...sides, credits, reason: outcome, reference });
}

export interface Grant {
  accountId: string;
  /** A whole number: above zero for a grant, not zero for an adjustment. */
  credits: number;
  kind: CreditKind;
  /** The caller's name for this transfer. The same reference is never booked twice. */
  reference: string;
}

/** Called within the transaction that books a transfer. */
export type RecordTransfer = (tx: Transaction) => Promise<void>;

/**
 * Gives credits, once per reference.
 * @param record not called when the credits were booked earlier
 * @returns true when the credits were booked now; false when they were booked earlier, with the
 * same values
 * @throws UsageError when the reference was used with other values
 */
export function grant(db: Database, given: Grant, record?: RecordTransfer): Promise<boolean> {
  const { credits, reference } = given;
  if (!Number.isSafeInteger(credits) || credits <= 0) {
    throw new UsageError('CREDITS must be a whole number above zero');
  }
  const sides = { source: 'granted', target: 'available' } as const;
  const move = { ...given, ...sides, reason: 'grant', reference: `grant:${reference}` } as const;
  return bookOnce(db, move, record);
}

/**
 * Corrects a balance up or down, once per reference; returns the same as {@link grant}.
 * @throws UsageError when the reference was used with other values, or the account has fewer
 *   available credits than the adjustment takes
 */
export async function adjust(
  db: Database,
  change: Grant & { note: string },
  record?: RecordTransfer,
): Promise<boolean> {
  const { credits, reference } = change;
  if (!Number.isSafeInteger(credits) || credits === 0) {
    throw new UsageError('CREDITS must be a whole number other than 0, such as +50 or -50');
  }
  const sides =
    credits > 0
      ? ({ source: 'granted', target: 'available' } as const)
      : ({ source: 'available', target: 'granted' } as const);
  const size = { credits: Math.abs(credits), reference: `adjust:${reference}` };
  try {
    return await bookOnce(db, { ...change, ...sides, ...size, reason: 'adjust' }, record);
  } catch (error) {
    if (violatedConstraint(error) !== 'available_not_negative') throw error;
    throw new UsageError('the account has fewer available credits than the adjustment takes');
  }
}

const READ = statement(
  'ledger_read',
  `select account_id, kind, source, target, credits, coalesce(note, '') as note
   from ledger_transfers where reference = $1`,
);

async function bookOnce(db: Database, move: Transfer, record?: RecordTransfer): Promise<boolean> {
  try {
    await db.transaction(async (tx) => {
      await transfer(tx, move);
      await record?.(tx);
    });
    return true;
  } catch (error) {
    // Every violated constraint is looked at, because a repeated transfer may violate the check of
    // the balance before the unique reference.
    if (violatedConstraint(error) === undefined || !(await isBooked(db, move))) throw error;
    return false;
  }
}

/** @throws UsageError when the reference was used with other values */
async function isBooked(db: Database, move: Transfer): Promise<boolean> {
  const [found] = await db.query(READ, [move.reference]);
  const wanted = {
    account_id: move.accountId,
    kind: move.kind,
    source: move.source,
    target: move.target,
    credits: move.credits,
    note: move.note ?? '',
  };
  if (!found || JSON.stringify(found) === JSON.stringify(wanted)) return found !== undefined;
  throw new UsageError(`reference ${JSON.stringify(move.reference)} was used with other values`);
}

/** Available and reserved credits of one kind. */
export interface KindBalances {
  available: number;
  reserved: number;
}

const BALANCES = statement(
  'ledger_balances',
  'select kind, available, reserved from ledger_balances where account_id = $1',
);

/** The balances of an account; zero if it has no balances. */
export async function balances(
  db: Queryable,
  accountId: string,
): Promise<Record<CreditKind, KindBalances>> {
  const rows = await db.query<KindBalances & { kind: CreditKind }>(BALANCES, [accountId]);
  const balancesOf = (kind: CreditKind): KindBalances => {
    const row = rows.find((candidate) => candidate.kind === kind);
    return { available: row?.available ?? 0, reserved: row?.reserved ?? 0 };
  };
  return { paid: balancesOf('paid'), promotional: balancesOf('promotional') };
}

/**
 * SQL parts that add the paid balance of the requesting account to the statement that admits a
 * request (accounts/admission.ts).
 */
export const PAID_BALANCE_OF_CALLER = {
  columns: 'paid.available as available_credits',
  joins: `join ledger_balances paid
       on paid.account_id = caller.account_id and paid.kind = 'paid'`,
} as const;
