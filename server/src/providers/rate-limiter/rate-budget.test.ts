import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { openTestDatabase, quiet } from '../../../test/database.ts';
import { freezeClock } from '../../../test/frozen-clock.ts';
import { openDatabase, statement } from '../../database/database.ts';
import { countFreeTurns, type RateBudget, secondsUntilTurn, takeTurn } from './rate-budget.ts';

const READS: RateBudget = { quota: 'one', purpose: 'read', callsPerSecond: 20 };
const CONNECTIONS_EACH = 10;

const database = await openTestDatabase();
const { url } = database;
const processes = Array.from({ length: 4 }, () =>
  openDatabase({ url, connections: CONNECTIONS_EACH, log: quiet }),
);

after(() => Promise.all(processes.map((db) => db.close())));

beforeEach(async () => {
  await stopClock(0);
  await database.db.query(statement('forget_turns', 'truncate provider_turns'));
});

const stopClock = (seconds: number) => freezeClock(database.db, seconds);

/** Takes turns concurrently over all connections of all pools and returns the waits in order. */
async function takeTurns(count: number, budget: RateBudget = READS): Promise<number[]> {
  const turns = Array.from({ length: count }, async (_, index) => {
    const db = processes[index % processes.length];
    assert.ok(db);
    return takeTurn(db, budget);
  });
  return (await Promise.all(turns)).sort((one, other) => one - other);
}

function assertSpacing(waits: number[], first: number, seconds: number): void {
  const expected = waits.map((_, index) => (first + index * seconds).toFixed(6));
  const rounded = waits.map((wait) => wait.toFixed(6));
  assert.deepEqual(rounded, expected);
}

test('turns taken at one moment over many connections are exactly one spacing apart', async () => {
  assertSpacing(await takeTurns(200), 0, 0.05);
});

test('while time passes, new turns follow the last one taken', async () => {
  await takeTurns(40); // takes all turns until second 2
  await stopClock(1.5);
  assertSpacing(await takeTurns(40), 0.5, 0.05);
});

test('unused turns are not saved up: after an idle day only one is free at once', async () => {
  await takeTurns(40);
  await stopClock(86_400);
  assertSpacing(await takeTurns(40), 0, 0.05);
});

test('a rate below one call per second is kept; a spacing is rounded up to whole microseconds', async () => {
  const slow = { ...READS, callsPerSecond: 0.5 };
  assertSpacing(await takeTurns(60, slow), 0, 2);
  assertSpacing(await takeTurns(3, slow), 120, 2);
  const odd = { ...READS, quota: 'other', callsPerSecond: 3 };
  assertSpacing(await takeTurns(30, odd), 0, 0.333334);
});

test('quotas do not take turns from each other, nor do the purposes of one quota', async () => {
  await takeTurns(20);
  const others = [
    { ...READS, quota: 'other' },
    { ...READS, purpose: 'find' },
    { ...READS, purpose: 'submit' },
  ] as const;
  for (const other of others) assert.deepEqual(await takeTurns(1, other), [0]);
});

test('a rate of zero or less throws a RangeError', async () => {
  for (const callsPerSecond of [0, -1, Number.NaN]) {
    await assert.rejects(takeTurns(1, { ...READS, callsPerSecond }), RangeError);
  }
});

test('after the clock was set back by an hour, no call waits for that hour', async () => {
  await stopClock(3600);
  await takeTurns(3);
  await stopClock(0);
  assertSpacing(await takeTurns(3), 0.15, 0.05); // after the turns that were taken
});

test('the free turns of the next second are counted, and none is taken', async () => {
  const db = database.db;
  assert.equal(await countFreeTurns(db, READS, 1), 21);
  await takeTurns(10);
  assert.equal(await secondsUntilTurn(db, READS), 0.5);
  assert.equal(await countFreeTurns(db, READS, 1), 11);
  await takeTurns(12);
  assert.equal(await countFreeTurns(db, READS, 1), 0);
  await stopClock(1);
  assert.equal(await countFreeTurns(db, READS, 1), 19);
});
