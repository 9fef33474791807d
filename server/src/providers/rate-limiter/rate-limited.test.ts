import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { openTestDatabase, quiet } from '../../../test/database.ts';
import { jobSpecOf } from '../../../test/providers/comfyui-rig.ts';
import { scriptedProvider } from '../../../test/task-fixtures.ts';
import { openDatabase, statement } from '../../database/database.ts';
import type { Capabilities, Provider, SubmitOutcome } from '../provider.ts';
import { listTurns, rateLimited } from './rate-limited.ts';

const FORGET = statement('test_forget_turns', 'truncate provider_turns');
const NEXT_FREE = statement(
  'test_next_free',
  `select extract(epoch from next_free - clock_now())::float8 as seconds from provider_turns`,
);

const database = await openTestDatabase();
beforeEach(async () => {
  await database.db.query(FORGET);
});

/** A provider that accepts everything, and the times of its calls. */
function subject(budgets: Capabilities['budgets']) {
  const calls: number[] = [];
  const called = async <Result>(result: Result): Promise<Result> => {
    calls.push(performance.now());
    return result;
  };
  const scripted = scriptedProvider({
    submit: () => called<SubmitOutcome>({ kind: 'accepted', jobId: 'job' }),
    read: () => called({ kind: 'working' }),
  });
  const provider: Provider = { ...scripted, capabilities: { ...scripted.capabilities, budgets } };
  return { provider, calls };
}

function send(provider: Provider): Promise<SubmitOutcome> {
  return provider.submit(jobSpecOf(), () => true);
}

/** Seconds from `startedAt` to the last of these calls. */
function lastAfter(startedAt: number, calls: number[]): number {
  return (Math.max(...calls) - startedAt) / 1000;
}

const FAST = { callsPerSecond: 20 };

/** Timers may fire a millisecond early. */
const TOLERANCE_SECONDS = 0.005;

/** The least time that this many calls take; the first does not wait. */
function leastSeconds(calls: number, callsPerSecond: number): number {
  return (calls - 1) / callsPerSecond - TOLERANCE_SECONDS;
}

test('mayStillSend is asked after the wait for a turn, and can stop the submit', async () => {
  const { provider } = subject({ submit: FAST });
  const asking: Provider = {
    ...provider,
    submit: async (_jobSpec, mayStillSend) =>
      mayStillSend() ? { kind: 'accepted', jobId: 'job' } : { kind: 'not_sent', cause: 'late' },
  };
  const limited = rateLimited(asking, { db: database.db, name: 'one' });
  assert.equal((await limited.submit(jobSpecOf(), () => false)).kind, 'not_sent');
});

test('reads and submits keep to 90 % of the rate, over all users of a quota', async () => {
  const { provider, calls } = subject({ submit: FAST, read: FAST });
  const [one, other] = ['one', 'one'].map((name) =>
    rateLimited(provider, { db: database.db, name }),
  );
  assert.ok(one && other);
  const readFrom = performance.now();
  await Promise.all([one, other, one, other].map((each) => each.read('job')));
  assert.equal(calls.length, 4);
  assert.ok(lastAfter(readFrom, calls) > leastSeconds(4, 19));
  const sentFrom = performance.now();
  await Promise.all([one, other, one].map(send));
  assert.equal(calls.length, 7);
  assert.ok(lastAfter(sentFrom, calls) > leastSeconds(3, 19));
});

test('a submit whose turn is far away is busy and takes no turn: the queue stays short', async () => {
  const { provider, calls } = subject({ submit: { callsPerSecond: 0.1 } });
  const limited = rateLimited(provider, { db: database.db, name: 'one' });
  assert.equal((await send(limited)).kind, 'accepted');
  for (let tries = 0; tries < 20; tries += 1) {
    const outcome = await send(limited);
    assert.ok(outcome.kind === 'rejected' && outcome.fault === 'busy', JSON.stringify(outcome));
    // One call in 10 s at 90 %, rounded up, less the time that has passed.
    assert.ok([10, 11, 12].includes(outcome.retryAfterSeconds ?? 0));
  }
  const [next] = await database.db.query<{ seconds: number }>(NEXT_FREE);
  assert.ok((next?.seconds ?? 0) < 11.2);
  assert.equal(calls.length, 1);
});

test('without a database a submit is not sent, and a read fails', async () => {
  const { provider, calls } = subject({ submit: FAST, read: FAST });
  const db = openDatabase({ url: database.url, connections: 1, log: quiet });
  await db.close();
  const limited = rateLimited(provider, { db, name: 'one' });
  assert.equal((await send(limited)).kind, 'not_sent');
  await assert.rejects(limited.read('job'));
  assert.deepEqual(calls, []);
});

test('a quota does not wait for another, and a call without a budget does not wait', async () => {
  const { provider, calls } = subject({ submit: { callsPerSecond: 0.1 } });
  const [one, other] = ['one', 'other'].map((name) =>
    rateLimited(provider, { db: database.db, name }),
  );
  assert.ok(one && other);
  const outcomes = await Promise.all([send(one), send(other)]);
  const kinds = outcomes.map(({ kind }) => kind);
  assert.deepEqual(kinds, ['accepted', 'accepted']);
  await Promise.all([one.read('job'), one.read('job')]);
  assert.equal(calls.length, 4);
});

test('lists of jobs are read at 75 % of the rate', async () => {
  const { provider } = subject({ find: FAST });
  const quota = { db: database.db, name: 'one' };
  const nextTurn = listTurns(quota, () => provider.capabilities);
  const startedAt = performance.now();
  for (let page = 0; page < 3; page += 1) await nextTurn();
  assert.ok(lastAfter(startedAt, [performance.now()]) > leastSeconds(3, 15));
});
