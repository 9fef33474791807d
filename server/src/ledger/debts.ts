import {
  type Database,
  type Queryable,
  statement,
  type Transaction,
  violatedConstraint,
} from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { bringUpToDate } from './lots.ts';
import { type CreditKind, transfer } from './transfer.ts';

/** Credits of a payment that are taken back, because the customer got the money back. */
export interface Clawback {
  accountId: string;
  /** A whole number above zero. */
  credits: number;
  /** The reference of the grant that the payment was given as. */
  payment: string;
  /** The caller's name for this clawback. The same reference is never booked twice. */
  reference: string;
  note: string;
}

const PAYMENT = statement(
  'ledger_payment',
  `select id, account_id, kind, credits from ledger_transfers
   where reference = 'grant:' || $1::text`,
);

interface Payment {
  id: number;
  account_id: string;
  kind: CreditKind;
  credits: number;
}

/**
 * Takes back credits of a payment, once per reference. What is not available any more, because it
 * is spent or reserved, becomes a debt: the account can reserve nothing until later grants and
 * refunds have paid it.
 * @param record called within the same transaction; not called when it was booked earlier
 * @returns the kind of the credits, and whether they were booked now
 * @throws UsageError when the payment is not a grant of the account or has fewer credits left to
 *   take back, or the reference was used with other values
 */
export async function clawBack(
  db: Database,
  wanted: Clawback,
  record: (tx: Transaction) => Promise<void>,
): Promise<{ kind: CreditKind; booked: boolean }> {
  const { accountId, credits, payment } = wanted;
  if (!Number.isSafeInteger(credits) || credits <= 0) {
    throw new UsageError('CREDITS must be a whole number above zero');
  }
  const [grant] = await db.query<Payment>(PAYMENT, [payment]);
  if (!grant || grant.account_id !== accountId) {
    throw new UsageError(`the account has no grant with the reference ${JSON.stringify(payment)}`);
  }
  return { kind: grant.kind, booked: await takeOnce(db, { wanted, payment: grant, record }) };
}

async function takeOnce(
  db: Database,
  clawback: { wanted: Clawback; payment: Payment; record: (tx: Transaction) => Promise<void> },
): Promise<boolean> {
  const { wanted, payment, record } = clawback;
  try {
    return await db.transaction(async (tx) => {
      await bringUpToDate(tx, { accountId: wanted.accountId, kind: payment.kind });
      if (await isClawedBack(tx, wanted, payment)) return false;
      await take(tx, wanted, payment);
      await record(tx);
      return true;
    });
  } catch (error) {
    // Clawbacks of two accounts do not wait for each other and may use one reference.
    if (violatedConstraint(error) === undefined) throw error;
    if (await isClawedBack(db, wanted, payment)) return false;
    throw error;
  }
}

const BOOKED = statement(
  'ledger_clawback_booked',
  `select account_id, origin, sum(credits)::int8 as credits, note from ledger_transfers
   where reference in ('clawback:' || $1::text, 'debt:' || $1::text)
   group by account_id, origin, note`,
);

/** @throws UsageError when the reference was used with other values */
async function isClawedBack(tx: Queryable, wanted: Clawback, payment: Payment): Promise<boolean> {
  const { accountId, credits, note, reference } = wanted;
  const found = await tx.query(BOOKED, [reference]);
  if (found.length === 0) return false;
  const same = { account_id: accountId, origin: payment.id, credits, note };
  if (JSON.stringify(found) === JSON.stringify([same])) return true;
  throw new UsageError(`reference ${JSON.stringify(reference)} was used with other values`);
}

// The balance's row is locked, so nothing else takes credits of the same payment meanwhile.
const TAKEN_BACK = statement(
  'ledger_taken_back',
  `select coalesce(sum(t.credits), 0)::int8 as credits, b.available
   from ledger_balances b left join ledger_transfers t
     on t.account_id = b.account_id and t.kind = b.kind and t.origin = $3
   where b.account_id = $1 and b.kind = $2 group by b.available`,
);

async function take(tx: Transaction, wanted: Clawback, payment: Payment): Promise<void> {
  const { accountId, credits, reference, note } = wanted;
  const { kind, id: origin } = payment;
  const [sums] = await tx.query<{ credits: number; available: number }>(TAKEN_BACK, [
    accountId,
    kind,
    origin,
  ]);
  const left = payment.credits - (sums?.credits ?? 0);
  if (credits > left) {
    const why = `${left} of its ${payment.credits} credits are neither taken back nor expired`;
    throw new UsageError(`the payment has fewer credits: ${why}`);
  }
  const available = Math.min(credits, sums?.available ?? 0);
  const shared = { accountId, kind, target: 'granted', reason: 'clawback', note, origin } as const;
  const references = [`clawback:${reference}`, `debt:${reference}`];
  const parts = [
    { source: 'available', credits: available },
    { source: 'debt', credits: credits - available },
  ] as const;
  for (const part of parts.filter((one) => one.credits > 0)) {
    // The first part always has the first reference, so two clawbacks can't share one.
    await transfer(tx, { ...shared, ...part, reference: references.shift() ?? '' });
  }
}
