import { namedStatement, statement, type Transaction } from '../database/database.ts';

/** Credits to reserve for a task. */
interface Reservation {
  accountId: string;
  taskId: string;
  credits: number;
}

/**
 * Whether a reservation was made: `insufficient` if the account has fewer credits; `unsettled` if
 * that can't be decided here, because expired credits or a debt must be booked first, because the
 * account has no balance, or because another transaction has locked it and was not waited for.
 */
type ReserveVerdict = 'reserved' | 'insufficient' | 'unsettled';

/** The paid balances of some accounts, locked until the transaction ends. */
export type LockedBalances = Awaited<ReturnType<typeof lockBalances>>;

// In the order of their ids, so that two transactions with several accounts can't deadlock. See
// RESERVE in ledger/transfer.ts for what is up to date.
const LOCK = `select account_id, available, reserved from ledger_balances
   where account_id = any($1) and kind = 'paid'
     and debt = 0 and (lots_due_at is null or lots_due_at > clock_now())
   order by account_id for update`;

/** What is done about a balance that another transaction has locked. */
export type WhenLocked = 'wait' | 'skip';

const LOCK_BY = {
  wait: statement('ledger_lock_balances', LOCK),
  skip: statement('ledger_lock_free_balances', `${LOCK} skip locked`),
};

/**
 * Locks the paid balances of accounts. Several reservations then cost as many statements as one.
 * Lock all else that the transaction needs before.
 */
export async function lockBalances(
  tx: Transaction,
  accountIds: Iterable<string>,
  whenLocked: WhenLocked,
) {
  const rows = await tx.query<Balance>(LOCK_BY[whenLocked], [[...new Set(accountIds)].sort()]);
  const balances = new Map(rows.map((row) => [row.account_id, row]));
  const booked: Booking[] = [];
  return {
    /** Decides about a reservation, after the earlier ones. {@link book} writes it. */
    reserve({ accountId, taskId, credits }: Reservation): ReserveVerdict {
      const balance = balances.get(accountId);
      if (!balance) return 'unsettled';
      if (balance.available < credits) return 'insufficient';
      balance.available -= credits;
      balance.reserved += credits;
      const { available, reserved } = balance;
      booked.push({ accountId, reference: `reserve:${taskId}`, credits, available, reserved });
      return 'reserved';
    },
    /** Books all that were reserved. Its promise must be awaited before the commit. */
    book: () => (booked.length === 0 ? Promise.resolve() : book(tx, booked)),
  };
}

interface Balance {
  account_id: string;
  available: number;
  reserved: number;
}

/** A reservation, and two balances after it. */
interface Booking extends Pick<Reservation, 'accountId' | 'credits'> {
  reference: string;
  available: number;
  reserved: number;
}

const BOOK = namedStatement(
  'ledger_reserve_together',
  ['accountIds', 'credits', 'references', 'available', 'reserved'],
  `with booked as materialized (
     select account_id, credits, reference, available, reserved, ordinal
     from unnest(:accountIds::text[], :credits::bigint[], :references::text[],
         :available::bigint[], :reserved::bigint[])
       with ordinality as booked (account_id, credits, reference, available, reserved, ordinal)),
   moved as (
     update ledger_balances set available = available - total, reserved = reserved + total
     from (select account_id as id, sum(credits)::bigint as total from booked group by account_id) s
     where account_id = s.id and kind = 'paid')
   insert into ledger_transfers
     (account_id, kind, source, target, credits, reason, reference, available_after, reserved_after)
   select account_id, 'paid', 'available', 'reserved', credits, 'reserve', reference,
     available, reserved from booked order by ordinal`,
);

function book(tx: Transaction, booked: Booking[]): Promise<unknown> {
  const values = BOOK.values({
    accountIds: booked.map(({ accountId }) => accountId),
    credits: booked.map(({ credits }) => credits),
    references: booked.map(({ reference }) => reference),
    available: booked.map(({ available }) => available),
    reserved: booked.map(({ reserved }) => reserved),
  });
  return tx.query(BOOK, values);
}
