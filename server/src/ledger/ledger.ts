// The room ledger/: credits. A transfer moves them between the balances of one account, once per
// reference; lots and debts follow from the transfers (docs/ARCHITECTURE.md, "Credits").

import { isDeepStrictEqual } from 'node:util';
import {
  command,
  type Database,
  type Queryable,
  statement,
  type Transaction,
  violatedConstraint,
} from '../database/database.ts';
import { Refusal, UsageError } from '../kernel/errors.ts';
import { bringUpToDate, noteExpiringGrant, payDebt } from './lots.ts';
import { type KindBalances, readKinds } from './overview.ts';
import {
  adjustment,
  type CreditKind,
  partsOf,
  requireAboveZero,
  type TaskCredits,
  TEST_SURFACE,
  type Transfer,
  transfer,
  transferAll,
} from './transfer.ts';

export const openBalances = command<[accountId: string], Transaction>(
  'ledger_open',
  `insert into ledger_balances (account_id, kind) values ($1, 'paid'), ($1, 'promotional')`,
);

/**
 * Settles the reservations of tasks: `capture` spends them, `refund` makes them available again.
 * Both use the same reference, so a task has at most one of them.
 * @throws pg's DatabaseError (`violatedConstraint`) when one of the tasks is already settled
 */
export async function settle(
  tx: Transaction,
  outcome: 'capture' | 'refund',
  tasks: TaskCredits[],
): Promise<void> {
  const target = outcome === 'capture' ? 'spent' : 'available';
  const shared = { source: 'reserved', target, reason: outcome } as const;
  const moves = tasks.flatMap((task) =>
    partsOf(task).map(({ kind, credits, name }) => {
      const { accountId } = task;
      return { ...shared, accountId, kind, credits, reference: `settle:${name}` };
    }),
  );
  const booked = await transferAll(tx, moves);
  for (const [i, { debt, available }] of booked.entries()) {
    const move = moves[i];
    if (move && debt > 0 && available > 0) await payDebt(tx, move);
  }
}

export interface Grant {
  accountId: string;
  /** A whole number: above zero for a grant, not zero for an adjustment. */
  credits: number;
  kind: CreditKind;
  /** The caller's name for this transfer. The same reference is never booked twice. */
  reference: string;
}

export type RecordTransfer = (tx: Transaction) => Promise<void>;

/**
 * Gives credits, once per reference. A debt of the balance is paid from them at once.
 * @param given.expiresAt when those that are still available are taken back
 * @param record called in the same transaction; not when the credits were booked earlier
 * @returns whether they were booked now; false: earlier, with the same values
 * @throws UsageError when the reference was used with other values, or `expiresAt` has passed
 */
export function grant(
  db: Database,
  given: Grant & { expiresAt?: Date | undefined },
  record?: RecordTransfer,
): Promise<boolean> {
  requireAboveZero(given.credits);
  return bookOnce(db, grantOf(given), record);
}

function grantOf(given: Grant & { expiresAt?: Date | undefined }): Transfer {
  const reference = `grant:${given.reference}`;
  return { ...given, source: 'granted', target: 'available', reason: 'grant', reference };
}

/**
 * {@link grant} for a payment, within the caller's transaction.
 * @param given.expiresAt in the future; null: they do not expire
 * @throws pg's DatabaseError (`violatedConstraint`) when the reference was used
 */
export async function grantPayment(
  tx: Transaction,
  given: { accountId: string; credits: number; reference: string; expiresAt: Date | null },
): Promise<void> {
  await book(tx, grantOf({ ...given, kind: 'paid', expiresAt: given.expiresAt ?? undefined }));
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
    throw new Refusal('credits', credits, 'must be a whole number other than 0');
  }
  const move = { ...change, ...adjustment(credits), reference: `adjust:${reference}` };
  try {
    return await bookOnce(db, move, record);
  } catch (error) {
    if (violatedConstraint(error) !== 'available_not_negative') throw error;
    throw new UsageError(
      'the account has fewer available credits than the adjustment takes. To take back credits ' +
        'that were used, run "credits clawback"',
    );
  }
}

const READ = statement(
  'ledger_read',
  `select account_id, kind, source, target, credits, coalesce(note, '') as note,
     expires_at
   from ledger_transfers where reference = $1`,
);

async function bookOnce(db: Database, move: Transfer, record?: RecordTransfer): Promise<boolean> {
  try {
    await db.transaction(async (tx) => {
      if (move.source === 'available') await bringUpToDate(tx, move);
      await book(tx, move);
      await record?.(tx);
    });
    return true;
  } catch (error) {
    // Any violated constraint counts: a repeated transfer may violate the balance's check before
    // the unique reference.
    if (violatedConstraint(error) === undefined || !(await isBooked(db, move))) throw error;
    return false;
  }
}

/** Books a grant or an adjustment. Expiring credits become a lot; a debt is paid at once. */
async function book(tx: Transaction, move: Transfer): Promise<void> {
  const { id, debt } = await transfer(tx, move);
  if (move.expiresAt) await noteExpiringGrant(tx, move, { id, expiresAt: move.expiresAt });
  if (move.expiresAt || debt > 0) await bringUpToDate(tx, move);
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
    expires_at: move.expiresAt ?? null,
  };
  if (!found) return false;
  if (isDeepStrictEqual(found, wanted)) return true;
  throw new UsageError(`reference ${JSON.stringify(move.reference)} was used with other values`);
}

/** The recorded balances of an account; zero where it has none. */
export async function balances(
  db: Queryable,
  accountId: string,
): Promise<Record<CreditKind, KindBalances>> {
  const found = await readKinds(db, accountId);
  const balancesOf = (kind: CreditKind): KindBalances => {
    const { available = 0, reserved = 0 } = found.get(kind) ?? {};
    return { available, reserved };
  };
  return { paid: balancesOf('paid'), promotional: balancesOf('promotional') };
}

/**
 * SQL for the admission query: the balance that the request's API key spends. If `is_behind`, some
 * of it may have expired or be owed: read {@link availableNow} instead. Test credits never do.
 */
export const BALANCE_OF_CALLER = {
  columns: `balance.available as available_credits,
       (balance.debt > 0 and balance.available > 0)
         or coalesce(balance.lots_due_at <= clock_now(), false) as is_behind`,
  joins: `join ledger_balances balance on balance.account_id = caller.account_id
       and balance.kind = case caller.surface when '${TEST_SURFACE}' then 'test' else 'paid' end`,
} as const;

export async function availableNow(db: Database, accountId: string): Promise<number> {
  return db.transaction(async (tx) => {
    await bringUpToDate(tx, { accountId, kind: 'paid' });
    return (await balances(tx, accountId)).paid.available;
  });
}

/** For `readiness.ts`: CTEs that take the table locks of a reservation without changing a row. */
export const TOUCH_LEDGER = `balance_touched as (
    update ledger_balances set reserved = reserved where false),
  transfer_touched as (
    insert into ledger_transfers (reference)
    select reference from ledger_transfers where false)`;
