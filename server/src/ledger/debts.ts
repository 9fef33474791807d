import { isDeepStrictEqual } from 'node:util';
import {
  type Database,
  type Queryable,
  query,
  statement,
  type Transaction,
  violatedConstraint,
} from '../database/database.ts';
import { UsageError } from '../kernel/errors.ts';
import { bringUpToDate } from './lots.ts';
import { type CreditKind, requireAboveZero, transfer } from './transfer.ts';

export interface Clawback {
  accountId: string;
  credits: number;
  payment: string;
  /** The caller's name for this clawback. The same reference is never booked twice. */
  reference: string;
  note: string;
}

interface Payment {
  id: number;
  account_id: string;
  kind: CreditKind;
  credits: number;
}

/** The grants of these payments, the newest first. */
const readPayments = query<[references: string[]], Payment>(
  'ledger_payments',
  `select id, account_id, kind, credits from ledger_transfers
   where reference = any(array(select 'grant:' || name from unnest($1::text[]) as name))
   order by id desc`,
);

/**
 * Claws back a refunded payment's credits, once per reference. Credits already spent or reserved
 * become a debt: the account can reserve nothing until later grants and refunds have paid it.
 * @param record called within the same transaction; not when the clawback was booked earlier
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
  requireAboveZero(credits);
  const [grant] = await readPayments(db, [payment]);
  if (!grant || grant.account_id !== accountId) {
    throw new UsageError(`the account has no grant with the reference ${JSON.stringify(payment)}`);
  }
  const { kind } = grant;
  try {
    const booked = await db.transaction(async (tx) => {
      await bringUpToDate(tx, { accountId, kind });
      if (await isClawedBack(tx, wanted, grant)) return false;
      const { left, available } = await leftOf(tx, grant);
      if (credits > left) {
        const why = `${left} of its ${grant.credits} credits are neither taken back nor expired`;
        throw new UsageError(`the payment has fewer credits: ${why}`);
      }
      await book(tx, wanted, { payment: grant, available });
      await record(tx);
      return true;
    });
    return { kind, booked };
  } catch (error) {
    // Clawbacks of two accounts do not wait for each other, so they may race for one reference.
    if (violatedConstraint(error) === undefined) throw error;
    if (await isClawedBack(db, wanted, grant)) return { kind, booked: false };
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
  if (isDeepStrictEqual(found, [same])) return true;
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

async function leftOf(tx: Transaction, payment: Payment) {
  const values = [payment.account_id, payment.kind, payment.id];
  const [sums] = await tx.query<{ credits: number; available: number }>(TAKEN_BACK, values);
  return { left: payment.credits - (sums?.credits ?? 0), available: sums?.available ?? 0 };
}

async function book(
  tx: Transaction,
  { accountId, credits, reference, note }: Omit<Clawback, 'payment'>,
  from: { payment: Payment; available: number },
): Promise<void> {
  const { kind, id: origin } = from.payment;
  const available = Math.min(credits, from.available);
  const shared = { accountId, kind, target: 'granted', reason: 'clawback', note, origin } as const;
  const parts = [
    { source: 'available', credits: available },
    { source: 'debt', credits: credits - available },
  ] as const;
  for (const [index, part] of parts.filter((one) => one.credits > 0).entries()) {
    // The first part is always called `clawback`, so two clawbacks can't share a reference.
    const name = index === 0 ? 'clawback' : 'debt';
    await transfer(tx, { ...shared, ...part, reference: `${name}:${reference}` });
  }
}

/**
 * Takes back credits of an account's payments, the newest first, within the caller's transaction.
 * Takes less if fewer of their credits are left, neither expired nor taken back.
 * @param wanted.payments references of the grants; some may not exist
 * @param wanted.referenceOf a new reference for each movement, counted from 0
 */
export async function takeBackUpTo(
  tx: Transaction,
  wanted: {
    accountId: string;
    payments: string[];
    credits: number;
    note: string;
    referenceOf: (movement: number) => string;
  },
): Promise<{ credits: number; movements: number }> {
  const { accountId, note, referenceOf } = wanted;
  await bringUpToDate(tx, { accountId, kind: 'paid' });
  const taken = { credits: 0, movements: 0 };
  for (const payment of await readPayments(tx, wanted.payments)) {
    const { left, available } = await leftOf(tx, payment);
    const credits = Math.min(left, wanted.credits - taken.credits);
    if (credits === 0) continue;
    const clawback = { accountId, credits, note, reference: referenceOf(taken.movements) };
    await book(tx, clawback, { payment, available });
    taken.credits += credits;
    taken.movements += 1;
  }
  return taken;
}
