import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { openTestDatabase, quiet } from '../../../test/database.ts';
import { freezeClock } from '../../../test/frozen-clock.ts';
import { jobSpec } from '../../../test/providers/job-spec.ts';
import { scriptedProvider, sql } from '../../../test/task-fixtures.ts';
import type { SubmitOutcome } from '../provider.ts';
import { createProviderBreaker, type ProviderBreaker, reportingOutcomes } from './breaker.ts';
import { afterFailure, type Outage, resetOutage } from './outages.ts';
import { endPause, pause } from './pauses.ts';

const database = await openTestDatabase();
const { db } = database;
let breaker: ProviderBreaker;

beforeEach(async () => {
  await sql(db, 'truncate provider_outages, pauses');
  await freezeClock(db, 0);
  breaker = createProviderBreaker({ db, log: quiet });
});

const ACCEPTED: SubmitOutcome = { kind: 'accepted', jobId: 'job' };
const BUSY: SubmitOutcome = { kind: 'rejected', fault: 'busy', cause: 'overloaded' };
const NOT_SENT: SubmitOutcome = { kind: 'not_sent', cause: 'connection refused' };
const UNKNOWN: SubmitOutcome = { kind: 'unknown', cause: 'timed out' };
const REFUSED: SubmitOutcome = { kind: 'rejected', fault: 'operator', cause: 'wrong key' };

async function observe(...outcomes: SubmitOutcome[]): Promise<void> {
  for (const outcome of outcomes) await breaker.observe('ark', outcome, false);
}

/** `admitted`, or for how many seconds a submit must wait. */
async function entry(through: ProviderBreaker = breaker): Promise<'admitted' | number> {
  const entered = await through.enter('ark');
  return entered.kind === 'admitted' ? 'admitted' : entered.seconds;
}

test('while nothing fails, a submit costs no statement', async () => {
  const unused = () => assert.fail('no statement is expected');
  const none = { query: unused, transaction: unused, snapshot: unused, close: unused };
  const idle = createProviderBreaker({ db: none, log: quiet });
  assert.equal((await idle.enter('ark')).kind, 'admitted');
  await idle.observe('ark', ACCEPTED, false);
  await idle.observe('ark', REFUSED, false);
  await idle.observe('ark', NOT_SENT, true);
});

test('an announced time, at most 300 s, closes the provider at once; a late response does not open it', async () => {
  await observe({ ...BUSY, retryAfterSeconds: 17 }, ACCEPTED);
  assert.equal(await entry(), 17);
  await observe({ ...BUSY, retryAfterSeconds: 9000 });
  assert.equal(await entry(), 300);
});

test('three failures in a row close the provider; a submit that gets through starts again', async () => {
  await observe(BUSY, NOT_SENT, ACCEPTED, UNKNOWN, BUSY);
  assert.equal(await entry(), 'admitted');
  await observe(NOT_SENT);
  assert.equal(await entry(), 2);
});

test('failures more than a minute apart are not in a row', async () => {
  await observe(BUSY, BUSY);
  await freezeClock(db, 60);
  await observe(BUSY);
  assert.equal(await entry(), 'admitted');
});

test('what the service or an operator caused does not close the provider', async () => {
  for (let count = 0; count < 5; count += 1) {
    await breaker.observe('ark', NOT_SENT, true);
    await breaker.observe('ark', REFUSED, false);
  }
  assert.equal(await entry(), 'admitted');
});

test('a provider is closed if connecting to it takes until the time to send is over', async () => {
  let mayStillSend = true;
  const submit = async () => {
    mayStillSend = false;
    return NOT_SENT;
  };
  const provider = reportingOutcomes(scriptedProvider({ submit }), breaker);
  for (let count = 0; count < 3; count += 1) {
    mayStillSend = true;
    await provider.submit(jobSpec(), () => mayStillSend);
  }
  assert.equal((await breaker.enter(provider.name)).kind, 'refused');
});

test('other processes know it within a second; other providers stay open', async (t) => {
  const other = createProviderBreaker({ db, log: quiet });
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  await other.follow(stopping.signal);
  await observe({ ...BUSY, retryAfterSeconds: 60 });
  const restarted = createProviderBreaker({ db, log: quiet });
  await restarted.follow(stopping.signal);
  assert.equal(await entry(restarted), 60);
  assert.equal((await restarted.enter('fal')).kind, 'admitted');
});

test('when the closed time is over, one submit at a time may try, until one gets through', async () => {
  await observe(BUSY, BUSY, BUSY);
  await freezeClock(db, 2);
  const other = createProviderBreaker({ db, log: quiet });
  await other.observe('ark', { ...BUSY, retryAfterSeconds: 2 }, false);
  await freezeClock(db, 4);
  const entries = await Promise.all([1, 2, 3, 4].map((n) => entry(n % 2 ? breaker : other)));
  assert.deepEqual(entries.sort(), [2, 2, 2, 'admitted']);
  await observe(ACCEPTED);
  assert.deepEqual([await entry(), await entry()], ['admitted', 'admitted']);
});

test('a try that fails closes the provider for longer each time, up to 30 s', async () => {
  await observe(BUSY, BUSY);
  const waits: Array<'admitted' | number> = [];
  for (let at = 0; waits.length < 6; ) {
    await observe(NOT_SENT);
    const wait = await entry();
    waits.push(wait);
    at += Number(wait);
    await freezeClock(db, at);
    assert.equal(await entry(), 'admitted');
  }
  assert.deepEqual(waits, [2, 4, 8, 16, 30, 30]);
});

test('a try that ends without an outcome, or whose process died, lets the next one try', async () => {
  await observe(BUSY, BUSY, BUSY);
  await freezeClock(db, 2);
  const trying = await breaker.enter('ark');
  assert.ok(trying.kind === 'admitted');
  assert.equal(await entry(), 2);
  await trying.end();
  assert.equal(await entry(), 'admitted');
  assert.equal(await entry(), 2);
  await freezeClock(db, 62);
  assert.equal(await entry(), 'admitted');
});

test('when the clock is set back, a provider is not closed for longer', async () => {
  await observe({ ...BUSY, retryAfterSeconds: 300 });
  await freezeClock(db, -86_400);
  assert.equal(await entry(), 'admitted');
  assert.equal(await entry(), 2);
});

test('a paused provider is closed until it is resumed; an operator may end the wait after an outage', async () => {
  await observe(BUSY);
  await db.transaction((tx) => pause(tx, 'ark', 'maintenance'));
  assert.deepEqual(await breaker.enter('ark'), { kind: 'refused', by: 'operator', seconds: 30 });
  await db.transaction((tx) => endPause(tx, 'ark'));
  assert.equal(await entry(), 'admitted');
  await observe({ ...BUSY, retryAfterSeconds: 300 });
  assert.equal(await db.transaction((tx) => resetOutage(tx, 'ark')), true);
  assert.equal(await entry(), 'admitted');
});

test('a database that fails does not change the outcome of a submit', async () => {
  const failing = () => Promise.reject(new Error('the connection broke'));
  const broken = { query: failing, transaction: failing, snapshot: failing, close: failing };
  await createProviderBreaker({ db: broken, log: quiet }).observe('ark', BUSY, false);
});

test('while a provider is closed, only a longer announced time changes that', () => {
  const outage: Outage = {
    failures: 3,
    seconds_since_failure: 1,
    closings: 2,
    closed_seconds: 10,
  };
  const unchanged = { failures: 3, closings: 2, closeSeconds: null };
  assert.deepEqual(afterFailure(outage, undefined), unchanged);
  assert.deepEqual(afterFailure(outage, 5), unchanged);
  assert.deepEqual(afterFailure(outage, 50), { ...unchanged, closeSeconds: 50 });
});
