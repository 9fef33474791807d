import { namedStatement, type Queryable, statement } from '../database/database.ts';
import { Refusal } from '../kernel/errors.ts';

/** The kinds of balances, in the order in which they are locked. Test keys spend test credits. */
export const BALANCE_KINDS = ['paid', 'promotional', 'test'] as const;
export type BalanceKind = (typeof BALANCE_KINDS)[number];
/**
 * The kinds that are worth something. The public API spends paid credits only. It never changes
 * promotional ones.
 */
export type CreditKind = Exclude<BalanceKind, 'test'>;

/** @throws Refusal unless this many credits can be given or taken back */
export function requireAboveZero(credits: number): void {
  if (Number.isSafeInteger(credits) && credits > 0) return;
  throw new Refusal('credits', credits, 'must be a whole number above zero');
}

/** The surface whose tasks spend test credits, and no others do (C20). */
export const TEST_SURFACE = 'test';

/** The credits of a task, all kinds together, and how many of them are promotional. */
export interface TaskCredits {
  accountId: string;
  taskId: string;
  credits: number;
  /** 0 if omitted. */
  promotionalCredits?: number;
  /** Whether they are test credits: all of them, or none. */
  isTest?: boolean;
}

/** The credits of one kind that a task reserves and settles. */
export interface TaskPart {
  kind: BalanceKind;
  credits: number;
  /** Follows `reserve:` and `settle:` in the references. Unique in the ledger. */
  name: string;
}

/** The parts of a task's credits that are not zero, in the order in which balances are locked. */
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

// A refund makes the lots due, because they may have expired in the meantime (decisions/0018).
const TRANSFER = namedStatement(
  'ledger_transfer',
  [
    'accountId',
    'kind',
    'source',
    'target',
    'credits',
    'reason',
    'reference',
    'note',
    'expiresAt',
    'origin',
  ],
  `with moved as (
     update ledger_balances set
       granted = granted
         + :credits::bigint * ((:source = 'granted')::int - (:target = 'granted')::int),
       available = available
         + :credits::bigint * ((:target = 'available')::int - (:source = 'available')::int),
       reserved = reserved
         + :credits::bigint * ((:target = 'reserved')::int - (:source = 'reserved')::int),
       spent = spent + :credits::bigint * ((:target = 'spent')::int - (:source = 'spent')::int),
       debt = debt + :credits::bigint * ((:source = 'debt')::int - (:target = 'debt')::int),
       lots_due_at = case when lots_due_at is null or :reason <> 'refund' then lots_due_at
         else least(lots_due_at, clock_now()) end
     where account_id = :accountId and kind = :kind
     returning available, reserved, debt),
   booked as (
     insert into ledger_transfers
       (account_id, kind, source, target, credits, reason, reference, note, expires_at, origin,
        available_after, reserved_after)
     select :accountId, :kind, :source, :target, :credits::bigint, :reason, :reference, :note,
       :expiresAt::timestamptz, :origin::bigint, available, reserved from moved
     returning id, available_after)
   select id, available_after as available, debt from booked, moved`,
);

/** A transfer that was booked, and two balances after it. */
export interface Booked {
  id: number;
  available: number;
  debt: number;
}

/**
 * Books a transfer.
 * @throws Error when the account has no balance of the kind; pg's DatabaseError
 *   (`violatedConstraint`) when the reference was used or a balance would fall below zero
 */
export async function transfer(tx: Queryable, move: Transfer): Promise<Booked> {
  const values = TRANSFER.values({
    ...move,
    note: move.note ?? null,
    expiresAt: move.expiresAt ?? null,
    origin: move.origin ?? null,
  });
  const [booked] = await tx.query<Booked>(TRANSFER, values);
  if (!booked) throw new Error(`account ${move.accountId} has no ${move.kind} balance`);
  return booked;
}

// A reserve must not take credits that have expired or are owed. So this finds no row while the
// balance is out of date (decisions/0018). It is in the transaction of each create, so it is kept
// short.
const RESERVE = statement(
  'ledger_reserve',
  `with moved as (
     update ledger_balances set available = available - $3::bigint, reserved = reserved + $3::bigint
     where account_id = $1 and kind = 'paid'
       and debt = 0 and (lots_due_at is null or lots_due_at > clock_now())
     returning available, reserved)
   insert into ledger_transfers
     (account_id, kind, source, target, credits, reason, reference, available_after, reserved_after)
   select $1, 'paid', 'available', 'reserved', $3::bigint, 'reserve', 'reserve:' || $2::text,
     available, reserved from moved
   returning id`,
);

/**
 * Reserves paid credits for a task, unless the balance has to be brought up to date first or does
 * not exist.
 * @returns whether they were reserved
 * @throws pg's DatabaseError, as {@link transfer}
 */
export async function reserveIfUpToDate(
  tx: Queryable,
  { accountId, taskId, credits }: { accountId: string; taskId: string; credits: number },
): Promise<boolean> {
  return (await tx.query(RESERVE, [accountId, taskId, credits])).length === 1;
}
