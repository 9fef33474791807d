import {
  command,
  type Database,
  query,
  queryFirst,
  queryValue,
  statement,
  type Transaction,
} from '../database/database.ts';
import { Refusal } from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import {
  applyTransfer,
  type LoggedTransfer,
  type Lot,
  type LotBook,
  type LotMovement,
  openLotBook,
  taskOf,
} from './lot-book.ts';
import { type BalanceKind, transfer } from './transfer.ts';

export interface BalanceKey {
  accountId: string;
  kind: BalanceKind;
}

// Which lot each credit comes from follows from the transfers (decisions/0018). A balance's lots
// contain its transfers up to `lots_through`. From `lots_due_at` on, newer transfers are
// applied before anything is reserved; null: the balance has no credits that expire.

/** Balances are updated at least daily, so an update reads at most a day of transfers. */
const UPDATE_DAYS = 1;
const UPDATE_MS = UPDATE_DAYS * 24 * 3600 * 1000;

type Key = [accountId: string, kind: BalanceKind];

const lock = queryFirst<
  Key,
  { debt: number; lots_through: number | null; lots_due_at: Date | null },
  Transaction
>(
  'ledger_lock',
  `select debt, lots_through, lots_due_at from ledger_balances
   where account_id = $1 and kind = $2 for update`,
);

/**
 * Applies new transfers to a balance's lots, takes the rest of expired lots, and pays its debt from
 * available credits. Does nothing if nothing is due. Locks the balance's row until the transaction
 * ends.
 */
export async function bringUpToDate(
  tx: Transaction,
  { accountId, kind }: BalanceKey,
): Promise<void> {
  const balance = { accountId, kind }; // without other members that the argument may have
  const row = await lock(tx, accountId, kind);
  if (!row) throw new Error(`account ${accountId} has no ${kind} balance`);
  if (row.lots_due_at !== null) await updateLots(tx, balance, row.lots_through ?? 0);
  else if (row.debt > 0) await payDebt(tx, balance);
}

const readClock = queryValue<[], Date | undefined>(
  'ledger_now',
  'select clock_now() as now',
  undefined,
);

async function updateLots(tx: Transaction, balance: BalanceKey, through: number): Promise<void> {
  const now = await readClock(tx);
  if (!now) throw new Error('clock_now() returned no row');
  const book = openLotBook(await readLots(tx, balance.accountId, balance.kind));
  const applied = await applyNewTransfers(tx, { balance, book, through });
  await expireLots(tx, balance, book, now);
  await payDebt(tx, balance);
  // Again, for the transfers that expired lots and paid the debt.
  const last = await applyNewTransfers(tx, { balance, book, through: applied });
  await recordUpdate(tx, balance.accountId, balance.kind, last, dueAt(book, now));
}

const recordUpdate = command<[...Key, through: number, dueAt: Date | null], Transaction>(
  'ledger_lots_updated',
  `update ledger_balances set lots_through = $3, lots_due_at = $4
   where account_id = $1 and kind = $2`,
);

/** When the lots are next due; null once they have no credits. */
function dueAt({ lots }: LotBook, now: Date): Date | null {
  const all = [...lots.values()];
  if (!all.some(({ available, reserved }) => available > 0 || reserved > 0)) return null;
  const expiries = all
    .filter(({ available }) => available > 0)
    .map(({ expiresAt }) => expiresAt.getTime());
  return new Date(Math.min(now.getTime() + UPDATE_MS, ...expiries));
}

async function expireLots(tx: Transaction, balance: BalanceKey, { lots }: LotBook, now: Date) {
  for (const { name, grantId, available, expiresAt } of lots.values()) {
    if (available === 0 || expiresAt > now) continue;
    await transfer(tx, {
      ...balance,
      source: 'available',
      target: 'granted',
      credits: available,
      reason: 'expire',
      reference: `expire:${name}`,
      origin: grantId,
    });
  }
}

const readOwed = queryFirst<Key, { credits: number; last_id: number }>(
  'ledger_owed',
  `select least(b.available, b.debt) as credits,
     (select max(t.id) from ledger_transfers t
      where t.account_id = b.account_id and t.kind = b.kind) as last_id
   from ledger_balances b
   where b.account_id = $1 and b.kind = $2 and b.debt > 0 and b.available > 0`,
);

/** Pays the debt of a balance, which the caller has locked, from its available credits. */
export async function payDebt(tx: Transaction, balance: BalanceKey): Promise<void> {
  const { accountId, kind } = balance;
  const owed = await readOwed(tx, accountId, kind);
  if (!owed) return;
  await transfer(tx, {
    ...balance,
    source: 'available',
    target: 'debt',
    credits: owed.credits,
    reason: 'repay',
    reference: `repay:${owed.last_id}`, // unique: the next one follows this one
  });
}

/** Lots that have available or reserved credits, in the order of their expiry. */
export const readLots = query<Key, Lot>(
  'ledger_lots_read',
  `select name, grant_id as "grantId", made_by as "madeBy", expires_at as "expiresAt", available,
     reserved, expired_at as "expiredAt"
   from ledger_lots where account_id = $1 and kind = $2 and (available > 0 or reserved > 0)
   order by expires_at, made_by, name`,
);

const PAGE = 5000;

const NEW_TRANSFERS = statement(
  'ledger_new_transfers',
  `select id, source, target, credits, reason, reference, expires_at, origin, created_at,
     available_after
   from ledger_transfers where account_id = $1 and kind = $2 and id > $3
   order by id limit ${PAGE}`,
);

/** @returns the id of the newest transfer that the lots contain now */
async function applyNewTransfers(
  tx: Transaction,
  { balance, book, through }: { balance: BalanceKey; book: LotBook; through: number },
): Promise<number> {
  const { accountId, kind } = balance;
  const page = await tx.query<LoggedTransfer>(NEW_TRANSFERS, [accountId, kind, through]);
  const last = page.at(-1);
  if (!last) return through;
  await readTaken(tx, book, page);
  for (const logged of page) applyTransfer(book, logged);
  await save(tx, balance, book);
  if (page.length < PAGE) return last.id;
  return applyNewTransfers(tx, { balance, book, through: last.id });
}

const TAKEN = statement(
  'ledger_lots_taken',
  `select m.transfer_id as "transferId", m.lot, m.credits, r.reference
   from unnest($1::text[]) as wanted (reference)
   join ledger_transfers r on r.reference = wanted.reference
   join ledger_lot_movements m on m.transfer_id = r.id order by m.transfer_id, m.lot`,
);

async function readTaken(tx: Transaction, book: LotBook, page: LoggedTransfer[]): Promise<void> {
  const references = page
    .filter(({ reason }) => reason === 'capture' || reason === 'refund')
    .map((settlement) => `reserve:${taskOf(settlement)}`);
  if (references.length === 0) return;
  const rows = await tx.query<LotMovement & { reference: string }>(TAKEN, [references]);
  for (const row of rows) {
    const task = taskOf(row);
    book.takenBy.set(task, [...(book.takenBy.get(task) ?? []), row]);
  }
}

const SAVE_LOTS = statement(
  'ledger_lots_save',
  `insert into ledger_lots (name, account_id, kind, grant_id, made_by, expires_at, available,
     reserved, expired_at)
   select name, $1, $2, "grantId", "madeBy", "expiresAt", available, reserved, "expiredAt"
   from jsonb_to_recordset($3) as changed (name text, "grantId" bigint, "madeBy" bigint,
     "expiresAt" timestamptz, available bigint, reserved bigint, "expiredAt" timestamptz)
   on conflict (name) do update set available = excluded.available,
     reserved = excluded.reserved, expired_at = excluded.expired_at`,
);

const SAVE_MOVEMENTS = statement(
  'ledger_lot_movements_save',
  `insert into ledger_lot_movements (transfer_id, lot, credits)
   select "transferId", lot, credits
   from jsonb_to_recordset($1) as moved ("transferId" bigint, lot text, credits bigint)`,
);

async function save(tx: Transaction, { accountId, kind }: BalanceKey, book: LotBook) {
  if (book.changed.size > 0) {
    const lots = JSON.stringify([...book.changed]);
    await tx.query(SAVE_LOTS, [accountId, kind, lots]);
    await tx.query(SAVE_MOVEMENTS, [JSON.stringify(book.movements)]);
  }
  book.changed.clear();
  book.movements = [];
  book.takenBy.clear();
}

const noteGrant = queryValue<[...Key, id: number, expiresAt: Date], boolean, Transaction>(
  'ledger_note_grant',
  `update ledger_balances set lots_due_at = clock_now(),
     lots_through = case when lots_due_at is null then $3::bigint - 1 else lots_through end
   where account_id = $1 and kind = $2
   returning $4::timestamptz > clock_now() as is_future`,
  false,
);

/**
 * Makes a balance's lots due, so that the grant becomes one of them. A balance without lots skips
 * the transfers before the grant.
 * @throws UsageError when the expiry has passed; the transaction must not commit then
 */
export async function noteExpiringGrant(
  tx: Transaction,
  { accountId, kind }: BalanceKey,
  { id, expiresAt }: { id: number; expiresAt: Date },
): Promise<void> {
  if (!(await noteGrant(tx, accountId, kind, id, expiresAt)))
    throw new Refusal('expires_at', expiresAt, 'must be in the future');
}

const DUE_PAGE = 200;

const DUE = statement(
  'ledger_due',
  `select account_id as "accountId", kind from ledger_balances
   where lots_due_at <= (select clock_now()) order by lots_due_at offset $1 limit ${DUE_PAGE}`,
);

/**
 * Brings all due balances up to date; several processes may do so at once. A balance that is missed
 * is brought up to date before its next reserve.
 * @returns how many balances were brought up to date
 */
export async function bringDueUpToDate(deps: { db: Database; log: Log }): Promise<number> {
  let [done, failed] = [0, 0];
  for (;;) {
    // A failed balance stays due: skip it.
    const page = await deps.db.query<BalanceKey>(DUE, [failed]);
    if (page.length === 0) return done;
    for (const balance of page) {
      if (await tryUpdate(deps, balance)) done += 1;
      else failed += 1;
    }
  }
}

async function tryUpdate({ db, log }: { db: Database; log: Log }, balance: BalanceKey) {
  try {
    await db.transaction((tx) => bringUpToDate(tx, balance));
    return true;
  } catch (err) {
    const message = 'the lots of a balance were not updated: run the audit if this persists';
    log.warn({ err, account: balance.accountId, kind: balance.kind }, message);
    return false;
  }
}
