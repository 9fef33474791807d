import { namedStatement, type Queryable } from '../database/database.ts';
import { Refusal } from '../kernel/errors.ts';

/** The kinds of balances, in the order in which they are locked. Test keys spend test credits. */
export const BALANCE_KINDS = ['paid', 'promotional', 'test'] as const;
export type BalanceKind = (typeof BALANCE_KINDS)[number];
/** The kinds with real value. The public API never touches promotional ones. */
export type CreditKind = Exclude<BalanceKind, 'test'>;

/** @throws Refusal unless this many credits can be given or taken back */
export function requireAboveZero(credits: number): void {
  if (Number.isSafeInteger(credits) && credits > 0) return;
  throw new Refusal('credits', credits, 'must be a whole number above zero');
}

/** The only surface whose tasks spend test credits (C20). */
export const TEST_SURFACE = 'test';

/** The credits of a task, all kinds together, and how many of them are promotional. */
export interface TaskCredits {
  accountId: string;
  taskId: string;
  credits: number;
  promotionalCredits?: number;
  /** Whether they are test credits: all of them, or none. */
  isTest?: boolean;
}

export interface TaskPart {
  kind: BalanceKind;
  credits: number;
  /** Follows `reserve:` and `settle:` in the references. Unique in the ledger. */
  name: string;
}

/** The parts that are not zero, in the order in which balances are locked. */
export function partsOf(reserved: TaskCredits): TaskPart[] {
  const { taskId, credits, promotionalCredits = 0, isTest = false } = reserved;
  if (isTest) return [{ kind: 'test', credits, name: `${taskId}:test` }];
  const parts: TaskPart[] = [
    { kind: 'paid', credits: credits - promotionalCredits, name: taskId },
    { kind: 'promotional', credits: promotionalCredits, name: `${taskId}:promotional` },
  ];
  return parts.filter((part) => part.credits !== 0);
}

export type BalanceName = 'granted' | 'available' | 'reserved' | 'spent' | 'debt';
export type Reason =
  | 'grant'
  | 'adjust'
  | 'reserve'
  | 'capture'
  | 'refund'
  | 'expire'
  | 'clawback'
  | 'repay';

export interface Transfer {
  accountId: string;
  kind: BalanceKind;
  source: BalanceName;
  target: BalanceName;
  credits: number;
  reason: Reason;
  /** Unique in the whole ledger: the same transfer can't be booked twice. */
  reference: string;
  note?: string | undefined;
  /** When the credits of a grant expire, if they do. */
  expiresAt?: Date | undefined;
  /** The id of the grant whose credits an expiry or a clawback takes. */
  origin?: number | undefined;
}

// All code locks balances in the order of kind and account, so that nothing deadlocks. A refund
// sets `lots_due_at` to now: the refunded lots may have expired meanwhile (decisions/0018).
// `account_id = any` is for the index.
const TRANSFER = namedStatement(
  'ledger_transfer',
  `with given as materialized (
     select account_id, kind, source, target, credits, reason, reference, note, expires_at, origin,
       place,
       credits * ((target = 'available')::int - (source = 'available')::int) as to_available,
       credits * ((target = 'reserved')::int - (source = 'reserved')::int) as to_reserved
     from unnest(:accountIds::text[], :kinds::text[], :sources::text[], :targets::text[],
       :credits::bigint[], :reasons::text[], :references::text[], :notes::text[],
       :expiresAt::timestamptz[], :origins::bigint[]) with ordinality
       as given (account_id, kind, source, target, credits, reason, reference, note, expires_at,
         origin, place)),
   -- As a transfer's source, granted and debt grow: they count what came in. Nothing leaves spent.
   sums as (
     select account_id, kind, sum(to_available)::bigint as available,
       sum(to_reserved)::bigint as reserved,
       sum(credits * (target = 'spent')::int)::bigint as spent,
       sum(credits * ((source = 'granted')::int - (target = 'granted')::int))::bigint as granted,
       sum(credits * ((source = 'debt')::int - (target = 'debt')::int))::bigint as debt,
       bool_or(reason = 'refund') as has_refund
     from given group by account_id, kind),
   locked as materialized (
     select account_id, kind from ledger_balances
     where account_id = any(:accountIds) and kind = any(:kinds)
     order by kind, account_id for update),
   moved as (
     update ledger_balances b set granted = b.granted + sums.granted,
       available = b.available + sums.available, reserved = b.reserved + sums.reserved,
       spent = b.spent + sums.spent, debt = b.debt + sums.debt,
       lots_due_at = case when has_refund and lots_due_at > clock_now() then clock_now()
         else lots_due_at end
     from sums join locked using (account_id, kind)
     where b.account_id = any(:accountIds) and b.account_id = sums.account_id
       and b.kind = sums.kind
     returning b.account_id, b.kind, b.available, b.reserved, b.debt),
   booked as (
     insert into ledger_transfers
       (account_id, kind, source, target, credits, reason, reference, note, expires_at, origin,
        available_after, reserved_after)
     select account_id, kind, source, target, credits, reason, reference, note, expires_at, origin,
       available - coalesce(sum(to_available) over later, 0),
       reserved - coalesce(sum(to_reserved) over later, 0)
     from given join moved using (account_id, kind)
     window later as (partition by account_id, kind order by place
       rows between 1 following and unbounded following)
     order by place
     returning id, account_id, kind, reference)
   select booked.id, booked.reference, moved.available, moved.debt
   from booked join moved using (account_id, kind)`,
);

/** A transfer that was booked, and its balance after all transfers of the call. */
export interface Booked {
  id: number;
  available: number;
  debt: number;
}

/**
 * @returns what was booked, in the given order
 * @throws Error when an account has no balance of the kind; pg's DatabaseError
 *   (`violatedConstraint`) when a reference was used or a balance would fall below zero
 */
export async function transferAll(tx: Queryable, moves: Transfer[]): Promise<Booked[]> {
  const values = TRANSFER.values({
    accountIds: moves.map(({ accountId }) => accountId),
    kinds: moves.map(({ kind }) => kind),
    sources: moves.map(({ source }) => source),
    targets: moves.map(({ target }) => target),
    credits: moves.map(({ credits }) => credits),
    reasons: moves.map(({ reason }) => reason),
    references: moves.map(({ reference }) => reference),
    notes: moves.map(({ note }) => note ?? null),
    expiresAt: moves.map(({ expiresAt }) => expiresAt ?? null),
    origins: moves.map(({ origin }) => origin ?? null),
  });
  const rows = await tx.query<Booked & { reference: string }>(TRANSFER, values);
  const booked = new Map(rows.map((row) => [row.reference, row]));
  return moves.map(({ accountId, kind, reference }) => {
    const row = booked.get(reference);
    if (!row) throw new Error(`account ${accountId} has no ${kind} balance`);
    return row;
  });
}

/** The sides of an adjustment by this many credits, not 0; a negative number takes credits. */
export function adjustment(credits: number) {
  const sides =
    credits > 0
      ? ({ source: 'granted', target: 'available' } as const)
      : ({ source: 'available', target: 'granted' } as const);
  return { ...sides, credits: Math.abs(credits), reason: 'adjust' } as const;
}

export async function transfer(tx: Queryable, move: Transfer): Promise<Booked> {
  const [booked] = await transferAll(tx, [move]);
  return booked as Booked;
}
