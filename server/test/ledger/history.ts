import assert from 'node:assert/strict';
import type { Database } from '../../src/database/database.ts';
import type { Balance, CreditKind } from '../../src/ledger/ledger.ts';
import { sql } from '../task-fixtures.ts';
import { type Asked, type Call, type History, type Move, nameOf } from './client.ts';
import { LedgerModel } from './model.ts';

/** One account's credits of one kind: every balance it went through, in the ledger's order. */
interface Book {
  name: string;
  states: Balance[];
  /** The newest state that somebody has seen for sure. */
  floor: number;
  /** The newest state that can have been reached: the movement after it is not asked for yet. */
  ceiling: number;
  /** Whether somebody asked for the movement that led to a state; the first needs none. */
  isAsked: boolean[];
}

/** A movement that is in the ledger, and the state that it led to. */
interface Booked {
  move: Move;
  book: Book;
  state: number;
}

/** A call was right if its book was in such a state at some moment between asking and telling. */
interface Sight {
  book: Book;
  fits(state: number): boolean;
}

/**
 * Proves that each book is linearizable: the ledger's own order of movements, with every read and
 * every refusal put somewhere between them, explains all answers, and never puts a call before one
 * that had been answered when it was asked. A movement in the ledger is somebody's who was told
 * `booked`, or whose answer was lost.
 * @throws AssertionError for the first call that no order explains
 */
export async function assertLinearizable(db: Database, { calls }: History): Promise<void> {
  const accounts = [...new Set(calls.map(({ asked }) => asked.accountId))];
  const ledger = replay(accounts, await entriesOf(db, accounts));
  const owners = ownersOf(ledger, calls);
  const floors = new Map<Call, Map<Book, number>>();
  for (const { call, isAsking } of momentsOf(calls)) {
    if (isAsking) {
      floors.set(call, new Map([...ledger.books.values()].map((book) => [book, book.floor])));
      const owned = owners.get(call);
      if (owned) raiseCeiling(owned);
    } else {
      for (const sight of sightsOf(call, ledger)) {
        place(call, sight, floors.get(call)?.get(sight.book) ?? 0);
      }
      floors.delete(call);
    }
  }
}

interface Ledger {
  books: Map<string, Book>;
  booked: Map<string, Booked>;
}

interface Entry {
  account_id: string;
  kind: CreditKind;
  source: string;
  credits: number;
  reason: Move['type'];
  reference: string;
  available_after: number;
  reserved_after: number;
}

function entriesOf(db: Database, accounts: string[]): Promise<Entry[]> {
  return sql<Entry>(
    db,
    `select account_id, kind, source, credits, reason, reference, available_after, reserved_after
     from ledger_transfers where account_id = any($1) order by id`,
    [accounts],
  );
}

/** Lets single-threaded models make the ledger's movements in its order. */
function replay(accounts: string[], entries: Entry[]): Ledger {
  const ledger: Ledger = { books: new Map(), booked: new Map() };
  const models = new Map(accounts.map((accountId) => [accountId, new LedgerModel()]));
  for (const entry of entries) {
    const { account_id, kind, available_after, reserved_after } = entry;
    const move = moveOf(entry);
    const model = models.get(account_id);
    assert.equal(model?.apply(move), 'booked', JSON.stringify(entry));
    const after = { available: available_after, reserved: reserved_after };
    assert.deepEqual(after, model?.balances[kind], JSON.stringify(entry));
    const book = bookOf(ledger, account_id, kind);
    assert.ok(!ledger.booked.has(nameOf(move)), `${nameOf(move)} was booked twice`);
    ledger.booked.set(nameOf(move), { move, book, state: book.states.push(after) - 1 });
  }
  return ledger;
}

function moveOf({ account_id: accountId, kind, source, credits, reason, reference }: Entry): Move {
  const name = Number(/\d+$/.exec(reference)?.[0]);
  if (reason === 'reserve' || reason === 'capture' || reason === 'refund') {
    return { type: reason, accountId, task: name, credits };
  }
  const signed = source === 'available' ? -credits : credits;
  return { type: reason, accountId, kind, credits: signed, reference: name };
}

function bookOf({ books }: Ledger, accountId: string, kind: CreditKind): Book {
  const name = `${accountId} ${kind}`;
  const states = [{ available: 0, reserved: 0 }];
  const book = books.get(name) ?? { name, states, floor: 0, ceiling: 0, isAsked: [true] };
  books.set(name, book);
  return book;
}

/** Who made each movement: the one call that was told so, else the first whose answer was lost. */
function ownersOf({ booked }: Ledger, calls: Call[]): Map<Call, Booked> {
  const owners = new Map<Call, Booked>();
  for (const [name, movement] of booked) {
    const asking = calls.filter(({ asked }) => asked.type !== 'read' && nameOf(asked) === name);
    const told = asking.filter((call) => call.told === 'booked');
    assert.ok(told.length <= 1, `${name}: ${told.length} calls were told that they booked it`);
    const lost = asking.filter((call) => call.told === 'lost' && isSame(call.asked, movement.move));
    const [owner] = [...told, ...lost];
    assert.ok(owner, `${name} is in the ledger, and nobody did it`);
    assert.deepEqual(owner.asked, movement.move);
    owners.set(owner, movement);
  }
  for (const call of calls) {
    if (call.told === 'booked') assert.ok(owners.has(call), `${show(call)}: not in the ledger`);
  }
  return owners;
}

function isSame(asked: Asked, move: Move): boolean {
  const members = Object.entries(move);
  return members.every(([member, value]) => Reflect.get(asked, member) === value);
}

function momentsOf(calls: Call[]): { call: Call; isAsking: boolean }[] {
  const moments = calls.flatMap((call) => [
    { call, isAsking: true, at: call.askedAt },
    { call, isAsking: false, at: call.toldAt },
  ]);
  return moments.filter(({ at }) => Number.isFinite(at)).sort((one, other) => one.at - other.at);
}

function raiseCeiling({ book, state }: Booked): void {
  book.isAsked[state] = true;
  while (book.isAsked[book.ceiling + 1]) book.ceiling += 1;
}

/** The states that explain an answer. */
function sightsOf(call: Call, ledger: Ledger): Sight[] {
  const { asked, told } = call;
  const { accountId } = asked;
  if (asked.type === 'read') {
    assert.ok(typeof told === 'object');
    return (['paid', 'promotional'] as const).map((kind) => {
      const book = bookOf(ledger, accountId, kind);
      return { book, fits: (state) => isEqual(book.states[state], told[kind]) };
    });
  }
  const named = ledger.booked.get(nameOf(asked));
  if (told === 'short') return shortSights(asked, ledger, named);
  assert.ok(named, `${show(call)}, and nothing of that name is booked`);
  if (told === 'booked') return [{ book: named.book, fits: (state) => state === named.state }];
  if ('reference' in asked)
    assert.equal(isSame(asked, named.move), told === 'repeated', show(call));
  return [{ book: named.book, fits: (state) => state >= named.state }];
}

function isEqual(balance: Balance | undefined, other: Balance): boolean {
  return balance?.available === other.available && balance.reserved === other.reserved;
}

/** Too few credits; and nothing of that name in the ledger, or an adjustment is told that first. */
function shortSights(asked: Move, ledger: Ledger, named: Booked | undefined): Sight[] {
  const kind = 'kind' in asked ? asked.kind : 'paid';
  const book = bookOf(ledger, asked.accountId, kind);
  const taken = asked.type === 'reserve' ? asked.credits : -asked.credits;
  const tooFew = { book, fits: (state: number) => (book.states[state]?.available ?? 0) < taken };
  if (!named || asked.type !== 'adjust') return [tooFew];
  return [tooFew, { book: named.book, fits: (state) => state < named.state }];
}

/** Puts a call at the earliest state that explains it, which leaves later calls the most room. */
function place(call: Call, { book, fits }: Sight, floor: number): void {
  for (let state = floor; state <= book.ceiling; state += 1) {
    if (!fits(state)) continue;
    book.floor = Math.max(book.floor, state);
    return;
  }
  const seen = JSON.stringify(book.states.slice(floor, book.ceiling + 1));
  assert.fail(`${show(call)}: ${book.name} was in none but these states: ${seen}`);
}

function show({ asked, told }: Call): string {
  return `${JSON.stringify(asked)} was told ${JSON.stringify(told)}`;
}
