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

/** A movement in the ledger: the call that made it, and the state that it led to. */
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

interface Ledger {
  timelineOf(accountId: string, kind: CreditKind): Timeline;
  booked: Map<string, Booking>;
}

/**
 * Proves that each timeline is linearizable: the ledger's own order of movements, with every read
 * and every refusal placed somewhere between them, explains all results and never places a call
 * before one that had returned when it was sent. That the movements add up is what the audit proves.
 * @throws AssertionError for the first call that no order explains
 */
export async function assertLinearizable(db: Database, { calls }: LedgerHistory): Promise<void> {
  const ledger = await readLedger(db, calls);
  const floors = new Map<LedgerCall, Map<Timeline, number>>();
  const timelines = new Set([...ledger.booked.values()].map(({ timeline }) => timeline));
  const moments = calls.flatMap((call) => [
    { call, isSending: true, at: call.sentAt },
    { call, isSending: false, at: call.receivedAt },
  ]);
  for (const { call, isSending } of moments.sort((one, other) => one.at - other.at)) {
    if (isSending) {
      floors.set(call, new Map([...timelines].map((timeline) => [timeline, timeline.floor])));
      if (call.result === 'booked') raiseCeiling(bookingOf(call, ledger));
    } else {
      for (const constraint of constraintsOf(call, ledger)) {
        placeCall(call, constraint, floors.get(call)?.get(constraint.timeline) ?? 0);
      }
    }
  }
}

interface Entry {
  account_id: string;
  kind: CreditKind;
  credits: number;
  reason: Movement['type'];
  reference: string;
  available: number;
  reserved: number;
}

/** The ledger's movements, each made by exactly one call that was told so. */
async function readLedger(db: Database, calls: LedgerCall[]): Promise<Ledger> {
  const timelines = new Map<string, Timeline>();
  const timelineOf = (accountId: string, kind: CreditKind): Timeline => {
    const name = `${accountId} ${kind}`;
    const states = [{ available: 0, reserved: 0 }];
    const known = timelines.get(name) ?? { name, states, floor: 0, ceiling: 0, isSent: [true] };
    timelines.set(name, known);
    return known;
  };
  const made = calls.flatMap(({ request, result }) =>
    result === 'booked' && request.type !== 'read' ? [request] : [],
  );
  const owners = new Map(made.map((movement) => [movementName(movement), movement]));
  assert.equal(owners.size, made.length, 'a movement was booked by two calls');
  const entries = await sql<Entry>(
    db,
    `select account_id, kind, credits, reason, reference, available_after as available,
       reserved_after as reserved
     from ledger_transfers where account_id = any($1) order by id`,
    [[...new Set(calls.map(({ request }) => request.accountId))]],
  );
  const booked = new Map<string, Booking>();
  for (const { account_id, kind, credits, reason, reference, available, reserved } of entries) {
    const task = Number(/\d+$/.exec(reference)?.[0]);
    const type = reason === 'grant' || reason === 'adjust' ? reason : 'reserve';
    const name = reason === 'capture' || reason === 'refund' ? `settle:${task}` : `${type}:${task}`;
    const movement = owners.get(name) ?? assert.fail(`${name} was booked by no call`);
    const found = [movement.type, movement.accountId, Math.abs(movement.credits)];
    assert.deepEqual([reason, account_id, credits], found, name);
    const timeline = timelineOf(account_id, kind);
    const state = timeline.states.push({ available, reserved }) - 1;
    booked.set(name, { movement, timeline, state });
  }
  assert.equal(booked.size, owners.size, 'a booked movement is not in the ledger');
  return { timelineOf, booked };
}

function bookingOf({ request }: LedgerCall, { booked }: Ledger): Booking {
  const booking = request.type === 'read' ? undefined : booked.get(movementName(request));
  return booking ?? assert.fail(`${JSON.stringify(request)}: nothing of that name is booked`);
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
      const timeline = ledger.timelineOf(accountId, kind);
      return { timeline, fits: (state) => isDeepStrictEqual(timeline.states[state], result[kind]) };
    });
  }
  if (result === 'insufficient') {
    const timeline = ledger.timelineOf(accountId, 'kind' in request ? request.kind : 'paid');
    const taken = request.type === 'reserve' ? request.credits : -request.credits;
    const tooFew = {
      timeline,
      fits: (state: number) => (timeline.states[state]?.available ?? 0) < taken,
    };
    const named = ledger.booked.get(movementName(request));
    if (!named || request.type !== 'adjust') return [tooFew];
    // The name of an adjustment is checked first, so it was not booked yet either.
    return [tooFew, { timeline: named.timeline, fits: (state) => state < named.state }];
  }
  const { timeline, movement, state: own } = bookingOf(call, ledger);
  if (result === 'booked') return [{ timeline, fits: (state) => state === own }];
  if ('reference' in request)
    assert.equal(isDeepStrictEqual(request, movement), result === 'repeated', show(call));
  return [{ timeline, fits: (state) => state >= own }];
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
