import { type Queryable, query } from '../database/database.ts';
import type { BalanceKind, BalanceName, Reason } from '../ledger/transfer.ts';

export interface DescribableMovement {
  kind: BalanceKind;
  reason: Reason;
  from: BalanceName;
  reference: string;
  note: string | null;
}

export function orderIdOf({ reference }: Pick<DescribableMovement, 'reference'>): string | null {
  return /^(?:grant|clawback|debt):order:(ord_[0-9A-Za-z]{24}):\d+$/.exec(reference)?.[1] ?? null;
}

/** A new account's free credits (SIGNUP_CREDITS). */
const SIGN_UP = /^grant:signup:/;

const WORDS: Record<Exclude<Reason, 'grant' | 'clawback'>, string> = {
  adjust: 'Corrected by the operator',
  reserve: 'Reserved for a video',
  capture: 'Charged for a video',
  refund: 'Refunded: the video failed',
  expire: 'Expired',
  repay: 'Paid off what you owed',
};

/** @param offers the names of the offers sold, by order id */
export function describeMovement(
  movement: DescribableMovement,
  offers: Map<string, string>,
): string {
  const { kind, reason, from } = movement;
  if (kind === 'test' && reason === 'grant') return 'The first test credits';
  if (kind === 'test' && reason === 'adjust') return 'Refilled';
  const order = orderIdOf(movement);
  const name = (order !== null && offers.get(order)) || 'credits';
  if (reason === 'grant') {
    if (SIGN_UP.test(movement.reference)) return 'Sign-up credits';
    if (order === null) return 'Granted by the operator';
    // An order's first movement is the purchase; later grants restore what was taken back.
    return /:1$/.test(movement.reference) ? `Bought: ${name}` : `Restored: ${name}`;
  }
  if (reason !== 'clawback') return WORDS[reason];
  const why = order === null ? 'Payment reversed' : `Payment refunded or disputed: ${name}`;
  return from === 'debt' ? `${why} (credits already used: you owe them)` : why;
}

const namesOf = query<[orderIds: string[]], { id: string; name: string }>(
  'order_names',
  `select o.id, f.name from orders o join offers f on f.id = o.offer_id where o.id = any($1)`,
);

export async function offersOf(
  db: Queryable,
  movements: Iterable<Pick<DescribableMovement, 'reference'>>,
): Promise<Map<string, string>> {
  const ids = [...movements].map(orderIdOf).filter((id) => id !== null);
  if (ids.length === 0) return new Map();
  const rows = await namesOf(db, [...new Set(ids)]);
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/**
 * The service's note on an order, or an operator's reason for a correction. All other notes are for
 * operators only.
 */
export function publicNote(movement: DescribableMovement): string | null {
  const isPublic = movement.reason === 'adjust' || orderIdOf(movement) !== null;
  return isPublic ? movement.note : null;
}
