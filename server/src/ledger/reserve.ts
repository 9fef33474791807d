import { statement, type Transaction } from '../database/database.ts';
import { ApiError } from '../kernel/errors.ts';
import { bringUpToDate } from './lots.ts';
import { openTestBalance } from './test-credits.ts';
import {
  BALANCE_KINDS,
  type BalanceKind,
  partsOf,
  type Transfer,
  transferAll,
} from './transfer.ts';

/** Which credits a task spends; the website spends promotional ones first. */
export type Spends = 'paid' | 'promotional_first' | 'test';

const KINDS: Record<Spends, readonly BalanceKind[]> = {
  paid: ['paid'],
  promotional_first: ['paid', 'promotional'], // the order of the locks, not of spending
  test: ['test'],
};

export interface Reservation {
  accountId: string;
  taskId: string;
  credits: number;
  spends: Spends;
}

type Wanted = Array<Pick<Reservation, 'accountId' | 'spends'>>;

/**
 * A reservation's result: how many credits are promotional; ApiError `insufficient_credits`; or,
 * with `skip` only, `undecided`: the balance is out of date, or locked by another transaction.
 */
export type Reserved = { promotionalCredits: number } | ApiError | 'undecided';

export type WhenLocked = 'wait' | 'skip';

export type LockedBalances = Awaited<ReturnType<typeof lockBalances>>;

/**
 * Locks, until the transaction ends, the balances that reservations spend. Lock the
 * transaction's Idempotency-Keys first.
 * @param whenLocked `skip` leaves out what is locked by others or out of date; `wait` waits, and
 *   brings balances up to date
 */
export async function lockBalances(tx: Transaction, wanted: Wanted, whenLocked: WhenLocked) {
  const balances = await (whenLocked === 'wait' ? lockUpToDate(tx, wanted) : lockFree(tx, wanted));
  const moves: Transfer[] = [];
  return {
    /** Decides a reservation; those decided before it have taken their credits. */
    reserve(reservation: Reservation): Reserved {
      const { accountId, credits, spends } = reservation;
      const found = KINDS[spends].map((kind) => balances.get(nameOf(accountId, kind)));
      if (found.includes(undefined)) return 'undecided';
      const [paidOrTest, promotional] = found;
      const split = splitCredits(credits, {
        paid: paidOrTest?.available ?? 0,
        promotional: promotional?.available ?? 0,
      });
      if (!split.isAffordable) return insufficientCredits(credits, spends);
      if (paidOrTest) paidOrTest.available -= split.paid;
      if (promotional) promotional.available -= split.promotional;
      moves.push(...movesOf(reservation, split.promotional));
      return { promotionalCredits: split.promotional };
    },
    /** Books all reservations. Await it before the commit. */
    book: async () => {
      if (moves.length > 0) await transferAll(tx, moves);
    },
  };
}

function movesOf({ spends, ...task }: Reservation, promotionalCredits: number): Transfer[] {
  const parts = partsOf({ ...task, promotionalCredits, isTest: spends === 'test' });
  return parts.map(({ kind, credits, name }) => ({
    accountId: task.accountId,
    kind,
    source: 'available',
    target: 'reserved',
    credits,
    reason: 'reserve',
    reference: `reserve:${name}`,
  }));
}

/** Splits a price over the available credits, promotional ones first. */
export function splitCredits(
  credits: number,
  available: { paid: number; promotional: number },
): { promotional: number; paid: number; isAffordable: boolean } {
  const promotional = Math.min(credits, available.promotional);
  const paid = credits - promotional;
  return { promotional, paid, isAffordable: paid <= available.paid };
}

const KIND_WORDS: Record<Spends, string> = { paid: 'paid ', promotional_first: '', test: 'test ' };

export function insufficientCredits(credits: number, spends: Spends): ApiError {
  const message = `Not enough ${KIND_WORDS[spends]}credits for this request.`;
  return new ApiError('insufficient_credits', message, { details: { required_credits: credits } });
}

interface Balance {
  account_id: string;
  kind: BalanceKind;
  available: number;
  /** Credits of this balance may have expired, or it has a debt (decisions/0018). */
  is_behind: boolean;
}

// All code locks in this order, so that two transactions with several balances can't deadlock.
const LOCK = `select account_id, kind, available,
     debt > 0 or coalesce(lots_due_at <= clock_now(), false) as is_behind
   from ledger_balances where account_id = any($1) and kind = any($2)
   order by kind, account_id for update`;
const LOCK_ALL = statement('ledger_lock_balances', LOCK);
const LOCK_FREE = statement('ledger_lock_free_balances', `${LOCK} skip locked`);

async function lockFree(tx: Transaction, wanted: Wanted): Promise<Map<string, Balance>> {
  const rows = await tx.query<Balance>(LOCK_FREE, keysOf(wanted));
  return byName(rows.filter((row) => !row.is_behind));
}

async function lockUpToDate(tx: Transaction, wanted: Wanted): Promise<Map<string, Balance>> {
  // The website makes test tasks even for accounts that never had a test key or test balance.
  const testers = wanted.filter(({ spends }) => spends === 'test');
  for (const accountId of new Set(testers.map((task) => task.accountId))) {
    await openTestBalance(tx, accountId);
  }
  const lockAll = () => tx.query<Balance>(LOCK_ALL, keysOf(wanted));
  const rows = await lockAll();
  const behind = rows.filter((row) => row.is_behind);
  for (const { account_id: accountId, kind } of behind)
    await bringUpToDate(tx, { accountId, kind });
  const balances = byName(behind.length === 0 ? rows : await lockAll());
  for (const { accountId, spends } of wanted) {
    for (const kind of KINDS[spends]) {
      if (!balances.has(nameOf(accountId, kind)))
        throw new Error(`${accountId} has no ${kind} balance`);
    }
  }
  return balances;
}

function keysOf(wanted: Wanted): [accountIds: string[], kinds: BalanceKind[]] {
  const kinds = new Set(wanted.flatMap(({ spends }) => KINDS[spends]));
  const accountIds = [...new Set(wanted.map(({ accountId }) => accountId))].sort();
  return [accountIds, BALANCE_KINDS.filter((kind) => kinds.has(kind))];
}

const nameOf = (accountId: string, kind: BalanceKind) => `${accountId} ${kind}`;

function byName(rows: Balance[]): Map<string, Balance> {
  return new Map(rows.map((row) => [nameOf(row.account_id, row.kind), row]));
}
