import type { BalanceName, Reason } from './transfer.ts';

/** How long after a refund its credits can be used if their lot expired meanwhile. */
export const GRACE_DAYS = 7;
const GRACE_MS = GRACE_DAYS * 24 * 3600 * 1000;

/** Credits that expire together. */
export interface Lot {
  /** The reference of its grant; for a grace lot `settle:TASK/LOT`. Unique in the ledger. */
  name: string;
  /** The id of the grant that the credits come from. */
  grantId: number;
  /** The id of the transfer that made the lot: its grant, or the refund that made a grace lot. */
  madeBy: number;
  expiresAt: Date;
  available: number;
  reserved: number;
  /** When a transfer took the rest of the lot; null: not yet. */
  expiredAt: Date | null;
}

/** A change of a lot's available credits. */
export interface LotMovement {
  transferId: number;
  lot: string;
  credits: number;
}

export interface LoggedTransfer {
  id: number;
  source: BalanceName;
  target: BalanceName;
  credits: number;
  reason: Reason;
  reference: string;
  /** For a grant: when its credits expire. */
  expires_at: Date | null;
  /** For an expiry or a clawback: the id of the grant whose credits it takes. */
  origin: number | null;
  created_at: Date;
  available_after: number;
}

export type LotBook = ReturnType<typeof openLotBook>;

/** The lots of one balance, and what has changed since they were read. */
export function openLotBook(lots: readonly Lot[]) {
  return {
    /** At least all lots that have available or reserved credits, by name. */
    lots: new Map(lots.map((lot) => [lot.name, lot])),
    /** What reserves took from lots, by task: has at least the tasks that are settled next. */
    takenBy: new Map<string, readonly LotMovement[]>(),
    changed: new Set<Lot>(),
    movements: [] as LotMovement[],
  };
}

/** What a reference names after its first colon: a task, with the kind of credits unless paid. */
export function taskOf({ reference }: Pick<LoggedTransfer, 'reference'>): string {
  return reference.slice(reference.indexOf(':') + 1);
}

/** Applies one transfer. The same transfers in the same order give the same lots (decisions/0018). */
export function applyTransfer(book: LotBook, transfer: LoggedTransfer): void {
  const { reason, source, expires_at: expiresAt } = transfer;
  if (reason === 'capture' || reason === 'refund') settleLots(book, transfer);
  else if (source === 'available') takeFromLots(book, transfer);
  else if (reason === 'grant' && expiresAt) {
    addLot(book, transfer, { name: transfer.reference, grantId: transfer.id, expiresAt });
  }
}

function addLot(
  book: LotBook,
  transfer: LoggedTransfer,
  made: Pick<Lot, 'name' | 'grantId' | 'expiresAt'> & { credits?: number },
): void {
  const { credits = transfer.credits, ...named } = made;
  const lot: Lot = { ...named, madeBy: transfer.id, available: 0, reserved: 0, expiredAt: null };
  book.lots.set(lot.name, lot);
  moveLot(book, transfer, lot, credits);
}

function moveLot(book: LotBook, transfer: LoggedTransfer, lot: Lot, credits: number): void {
  lot.available += credits;
  book.movements.push({ transferId: transfer.id, lot: lot.name, credits });
  book.changed.add(lot);
}

/** Takes a transfer's credits from lots, and the rest from credits that do not expire. */
function takeFromLots(book: LotBook, transfer: LoggedTransfer): void {
  const taken: LotMovement[] = [];
  let left = transfer.credits;
  for (const { lot, most } of sourcesOf(book, transfer)) {
    const credits = Math.min(left, most);
    if (credits === 0) continue;
    left -= credits;
    if (!lot) continue;
    moveLot(book, transfer, lot, -credits);
    if (transfer.reason === 'reserve') lot.reserved += credits;
    if (transfer.reason === 'expire') lot.expiredAt = transfer.created_at;
    taken.push({ transferId: transfer.id, lot: lot.name, credits: -credits });
  }
  if (left > 0) throw new Error(`${transfer.reference}: the lots do not agree with the transfers`);
  if (transfer.reason === 'reserve') book.takenBy.set(taskOf(transfer), taken);
}

interface CreditSource {
  lot?: Lot;
  most: number;
}

/**
 * Where a transfer takes its credits: from lots by expiry, then from credits that do not expire. An
 * expiry takes only its own lot; a clawback begins with the grant that it takes back.
 */
function sourcesOf(book: LotBook, transfer: LoggedTransfer): CreditSource[] {
  const lots = [...book.lots.values()].filter(({ available }) => available > 0).sort(byExpiry);
  const sources = lots.map((lot): CreditSource => ({ lot, most: lot.available }));
  const inLots = lots.reduce((sum, { available }) => sum + available, 0);
  const unexpiring = { most: Math.max(0, transfer.available_after + transfer.credits - inLots) };
  if (transfer.reason === 'expire') {
    const name = transfer.reference.slice('expire:'.length);
    return sources.filter(({ lot }) => lot?.name === name);
  }
  if (transfer.reason !== 'clawback') return [...sources, unexpiring];
  const isOwn = ({ lot }: CreditSource) => lot?.grantId === transfer.origin;
  return [...sources.filter(isOwn), unexpiring, ...sources.filter((source) => !isOwn(source))];
}

function byExpiry(a: Lot, b: Lot): number {
  return (
    a.expiresAt.getTime() - b.expiresAt.getTime() ||
    a.madeBy - b.madeBy ||
    (a.name < b.name ? -1 : 1)
  );
}

function settleLots(book: LotBook, transfer: LoggedTransfer): void {
  for (const { lot: name, credits } of book.takenBy.get(taskOf(transfer)) ?? []) {
    const lot = book.lots.get(name);
    if (!lot) throw new Error(`${transfer.reference}: the lot ${name} is missing`);
    lot.reserved += credits; // negative: the reserve took them from the lot
    book.changed.add(lot);
    if (transfer.reason === 'refund') giveBack(book, transfer, lot, -credits);
  }
}

/**
 * Returns refunded credits to their lot, or to a grace lot if it has expired. Grace is given once:
 * credits from an expired grace lot are lost with the refund.
 */
function giveBack(book: LotBook, transfer: LoggedTransfer, lot: Lot, credits: number): void {
  const at = transfer.created_at;
  if (lot.expiredAt === null && at < lot.expiresAt) {
    moveLot(book, transfer, lot, credits);
    return;
  }
  const isGrace = lot.madeBy !== lot.grantId;
  addLot(book, transfer, {
    name: `${transfer.reference}/${lot.name}`,
    grantId: lot.grantId,
    expiresAt: isGrace ? at : new Date(at.getTime() + GRACE_MS),
    credits,
  });
}
