import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import type { Database } from '../../src/database/database.ts';
import type { KindBalances } from '../../src/ledger/overview.ts';
import type { CreditKind } from '../../src/ledger/transfer.ts';
import { sql } from '../task-fixtures.ts';
import { type LedgerCall, type LedgerHistory, type Movement, movementName } from './history.ts';

/** All balances of one account and kind, in the ledger's order; a state is an index into them. */
interface Timeline {
  name: string;
  states: KindBalances[];
  /** The newest state that a completed call proves to have been reached. */
  floor: number;
  /** The newest state that can have been reached: the movement after it has not been sent yet. */
  ceiling: number;
  /** Whether the movement that led to a state has been sent; the first state needs no movement. */
  isSent: boolean[];
}

/** A movement in the ledger, and the state that it led to. */
interface Booking {
  movement: Movement;
  timeline: Timeline;
  state: number;
}

/** The states of a timeline, one of which must hold at some moment of a call, to explain its result. */
interface Constraint {
  timeline: Timeline;
  fits(state: number): boolean;
}

/**
 * Proves that each timeline is linearizable: the ledger's own order of movements, with every read
 * and every refusal placed somewhere between them, explains all results and never places a call
 * before one that had returned when it was sent.
 * @throws AssertionError for the first call that no order explains
 */
export async function assertLinearizable(db: Database, { calls }: LedgerHistory): Promise<void> {
  const accounts = [...new Set(calls.map(({ request }) => request.accountId))];
  const ledger = replay(await entriesOf(db, accounts));
  const owners = ownersOf(ledger, calls);
  const floors = new Map<LedgerCall, Map<Timeline, number>>();
  for (const { call, isSending } of momentsOf(calls)) {
    if (isSending) {
      floors.set(
        call,
        new Map([...ledger.timelines.values()].map((timeline) => [timeline, timeline.floor])),
      );
      const booking = owners.get(call);
      if (booking) raiseCeiling(booking);
    } else {
      for (const constraint of constraintsOf(call, ledger)) {
        placeCall(call, constraint, floors.get(call)?.get(constraint.timeline) ?? 0);
      }
      floors.delete(call);
    }
  }
}

interface Ledger {
  timelines: Map<string, Timeline>;
  booked: Map<string, Booking>;
}

interface Entry {
  account_id: string;
  kind: CreditKind;
  source: string;
  credits: number;
  reason: Movement['type'];
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

/** Applies the ledger's movements in its order to balances that a single thread would keep. */
function replay(entries: Entry[]): Ledger {
  const ledger: Ledger = { timelines: new Map(), booked: new Map() };
  for (const entry of entries) {
    const { account_id, kind, available_after: available, reserved_after: reserved } = entry;
    const movement = movementOf(entry);
    const name = movementName(movement);
    const timeline = timelineOf(ledger, account_id, kind);
    const after = afterMovement(ledger, timeline, movement);
    assert.deepEqual({ available, reserved }, after, JSON.stringify(entry));
    assert.ok(available >= 0 && reserved >= 0, JSON.stringify(entry));
    assert.ok(!ledger.booked.has(name), `${name} was booked twice`);
    ledger.booked.set(name, { movement, timeline, state: timeline.states.push(after) - 1 });
  }
  return ledger;
}

function afterMovement({ booked }: Ledger, { states }: Timeline, movement: Movement): KindBalances {
  const { available, reserved } = states.at(-1) ?? { available: 0, reserved: 0 };
  const { credits } = movement;
  if ('reference' in movement) return { available: available + credits, reserved };
  if (movement.type === 'reserve') {
    return { available: available - credits, reserved: reserved + credits };
  }
  const reservation = booked.get(movementName({ ...movement, type: 'reserve' }))?.movement;
  assert.equal(reservation?.credits, credits, `${movementName(movement)}: not what was reserved`);
  const back = movement.type === 'refund' ? credits : 0;
  return { available: available + back, reserved: reserved - credits };
}

function movementOf(entry: Entry): Movement {
  const { account_id: accountId, kind, source, credits, reason, reference } = entry;
  const name = Number(/\d+$/.exec(reference)?.[0]);
  if (reason === 'reserve' || reason === 'capture' || reason === 'refund') {
    return { type: reason, accountId, task: name, credits };
  }
  const signed = source === 'available' ? -credits : credits;
  return { type: reason, accountId, kind, credits: signed, reference: name };
}

function timelineOf({ timelines }: Ledger, accountId: string, kind: CreditKind): Timeline {
  const name = `${accountId} ${kind}`;
  const states = [{ available: 0, reserved: 0 }];
  const timeline = timelines.get(name) ?? { name, states, floor: 0, ceiling: 0, isSent: [true] };
  timelines.set(name, timeline);
  return timeline;
}

/** The call that made each movement. */
function ownersOf({ booked }: Ledger, calls: LedgerCall[]): Map<LedgerCall, Booking> {
  const owners = new Map<LedgerCall, Booking>();
  for (const [name, booking] of booked) {
    const [owner, ...others] = calls.filter(({ request, result }) => {
      return request.type !== 'read' && movementName(request) === name && result === 'booked';
    });
    assert.ok(owner && others.length === 0, `${name} was not booked by exactly one call`);
    assert.deepEqual(owner.request, booking.movement);
    owners.set(owner, booking);
  }
  for (const call of calls) {
    if (call.result === 'booked') assert.ok(owners.has(call), `${show(call)}: not in the ledger`);
  }
  return owners;
}

function momentsOf(calls: LedgerCall[]): { call: LedgerCall; isSending: boolean }[] {
  const moments = calls.flatMap((call) => [
    { call, isSending: true, at: call.sentAt },
    { call, isSending: false, at: call.receivedAt },
  ]);
  return moments.sort((one, other) => one.at - other.at);
}

function raiseCeiling({ timeline, state }: Booking): void {
  timeline.isSent[state] = true;
  while (timeline.isSent[timeline.ceiling + 1]) timeline.ceiling += 1;
}

/** The states that explain the result of a call. */
function constraintsOf(call: LedgerCall, ledger: Ledger): Constraint[] {
  const { request, result } = call;
  const { accountId } = request;
  if (request.type === 'read') {
    assert.ok(typeof result === 'object');
    return (['paid', 'promotional'] as const).map((kind) => {
      const timeline = timelineOf(ledger, accountId, kind);
      return { timeline, fits: (state) => isDeepStrictEqual(timeline.states[state], result[kind]) };
    });
  }
  const named = ledger.booked.get(movementName(request));
  if (result === 'insufficient') return insufficientConstraints(request, ledger, named);
  assert.ok(named, `${show(call)}, but nothing of that name is booked`);
  if (result === 'booked')
    return [{ timeline: named.timeline, fits: (state) => state === named.state }];
  if ('reference' in request)
    assert.equal(isDeepStrictEqual(request, named.movement), result === 'repeated', show(call));
  return [{ timeline: named.timeline, fits: (state) => state >= named.state }];
}

/** Too few credits. For an adjustment its name is checked first, so it was not booked yet either. */
function insufficientConstraints(
  request: Movement,
  ledger: Ledger,
  named: Booking | undefined,
): Constraint[] {
  const kind = 'kind' in request ? request.kind : 'paid';
  const timeline = timelineOf(ledger, request.accountId, kind);
  const taken = request.type === 'reserve' ? request.credits : -request.credits;
  const tooFew = {
    timeline,
    fits: (state: number) => (timeline.states[state]?.available ?? 0) < taken,
  };
  if (!named || request.type !== 'adjust') return [tooFew];
  return [tooFew, { timeline: named.timeline, fits: (state) => state < named.state }];
}

/** Places a call at the earliest state that explains it, which leaves later calls most choice. */
function placeCall(call: LedgerCall, { timeline, fits }: Constraint, floor: number): void {
  for (let state = floor; state <= timeline.ceiling; state += 1) {
    if (!fits(state)) continue;
    timeline.floor = Math.max(timeline.floor, state);
    return;
  }
  const seen = JSON.stringify(timeline.states.slice(floor, timeline.ceiling + 1));
  assert.fail(`${show(call)}: ${timeline.name} was only in these states: ${seen}`);
}

function show({ request, result }: LedgerCall): string {
  return `${JSON.stringify(request)} got ${JSON.stringify(result)}`;
}
