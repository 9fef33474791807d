import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ABSENT,
  callBack,
  callbackDeps,
  detailsOf,
  findAgain,
  providerWith,
  report,
} from '../../test/attempt-fixtures.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import {
  claimTask,
  makeHeldTask,
  makeSubmittingTask,
  openTaskFixture,
  PRICE,
  scriptedProvider,
  sql,
  submitDeps,
} from '../../test/task-fixtures.ts';
import { balances } from '../ledger/ledger.ts';
import { reconcile } from '../operator/reconcile.ts';
import type { Callback, Provider } from '../providers/provider.ts';
import { announce } from '../tasks/create/idempotency-keys.ts';
import { type Phase, readTask, type Task } from '../tasks/task.ts';
import { currentAttempt, insertAttempt, SEND_WITHIN_SECONDS } from './attempts.ts';
import { receiveCallback } from './callback.ts';
import { recordEvidence } from './evidence.ts';
import { findJobOf } from './find-job.ts';

const fixture = await openTaskFixture('audited');
const { db } = fixture;

const callback = (attempt: { id: string }, named: Callback) => callBack(fixture, attempt.id, named);

/** The task's phase after another find. */
async function phaseAfterFind({ id }: Task, by: Provider = providerWith({})): Promise<Phase> {
  return (await findAgain(fixture, await readTask(db, id), by)).phase;
}

test('a callback wakes its task, and the job it names is adopted when the provider knows it', async () => {
  await freezeClock(db, 0);
  const { held, attempt } = await makeHeldTask(fixture);
  assert.equal(await phaseAfterFind(held), 'held');
  assert.equal(await callback(attempt, report('job-1')), 'received');
  const woken = await claimTask(db, held.id);
  assert.equal(await phaseAfterFind(woken, providerWith({ 'job-1': 'working' })), 'generating');
  const [shownAttempt] = (await detailsOf(fixture, held.id)).attempts;
  assert.equal(shownAttempt?.outcome_by, 'callback');
  assert.equal(shownAttempt?.job_id, 'job-1');
});

test('a callback that arrives during a find is not lost: the task is due at once', async () => {
  await freezeClock(db, 0);
  const { held, attempt } = await makeHeldTask(fixture);
  await freezeClock(db, 1);
  const callsBackDuringFind = scriptedProvider({
    find: async () => {
      await callback(attempt, report('job-meanwhile'));
      return ABSENT;
    },
  });
  assert.equal((await findAgain(fixture, held, callsBackDuringFind)).phase, 'held');
  assert.equal((await claimTask(db, held.id)).phase, 'held', 'it is due at once');
});

for (const [what, phase, take] of [
  ['a job of another attempt', 'generating', phaseAfterFind],
  [
    'a confirmed orphan job',
    'failed',
    async ({ id }: Task) =>
      (await reconcile(db, id, { kind: 'failed' }, 'the customer can’t wait')).phase,
  ],
] as const) {
  test(`a callback does not adopt ${what}`, async () => {
    const first = await makeHeldTask(fixture);
    await callback(first.attempt, report(`job-${phase}`, true));
    assert.equal(await take(first.held), phase);
    const second = await makeHeldTask(fixture);
    await callback(second.attempt, report(`job-${phase}`, true));
    assert.equal(await phaseAfterFind(second.held), 'held');
  });
}

test('a job found by likeness is adopted only if no other attempt can own it', async () => {
  const found = { kind: 'found', jobId: 'job-alike', by: 'likeness' } as const;
  await freezeClock(db, 10_000);
  const first = await makeHeldTask(fixture);
  await freezeClock(db, 10_100);
  const second = await makeHeldTask(fixture);
  // The mode differs, but job specs are not compared.
  const other = `update tasks set request = request || '{"mode": "image-to-video"}' where id = $1`;
  await sql(db, other, [second.held.id]);
  assert.equal(await phaseAfterFind(first.held, providerWith({}, found)), 'held');
  await reconcile(db, second.held.id, { kind: 'not_accepted' }, 'may be a mistake');
  const again = await readTask(db, first.held.id);
  const reason = 'it may belong to the other attempt';
  assert.equal(await phaseAfterFind(again, providerWith({}, found)), 'held', reason);
  const proven = `update attempts set outcome_by = 'find' where id = $1`;
  await sql(db, proven, [second.attempt.id]);
  assert.equal(await phaseAfterFind(again, providerWith({}, found)), 'generating');
});

test('a job found by likeness is not adopted if an attempt at another connection of the kind can own it', async () => {
  const found = { kind: 'found', jobId: 'job-of-account', by: 'likeness' } as const;
  const sameKind = ['scripted', 'scripted-2'];
  const moveAttempt = (id: string) =>
    sql(db, `update attempts set provider = 'scripted-2' where id = $1`, [id]);
  const find = (held: Task, by: Provider) => phaseAfterFind(held, { ...by, sameKind } as Provider);
  await freezeClock(db, 12_000);
  const first = await makeHeldTask(fixture);
  const second = await makeHeldTask(fixture);
  await moveAttempt(second.attempt.id);
  assert.equal(await find(first.held, providerWith({}, found)), 'held');
  await callback(first.attempt, report('job-of-account', true));
  await freezeClock(db, 14_000);
  const third = await makeHeldTask(fixture);
  await moveAttempt(third.attempt.id);
  assert.equal(await find(third.held, providerWith({}, found)), 'held', 'named for the first');
  assert.equal(await phaseAfterFind(await readTask(db, first.held.id)), 'generating');
  let taken: Set<string> | undefined;
  const listing = scriptedProvider({
    find: async ({ takenJobIds }) => {
      taken = await takenJobIds(['job-of-account', 'job-free']);
      return ABSENT;
    },
  });
  await find(third.held, listing);
  assert.deepEqual([...(taken ?? [])], ['job-of-account']);
});

test('a job that a callback named for another attempt is not adopted by likeness', async () => {
  const found = { kind: 'found', jobId: 'job-named', by: 'likeness' } as const;
  await freezeClock(db, 20_000);
  const { held } = await makeHeldTask(fixture);
  await freezeClock(db, 30_000);
  const other = await makeHeldTask(fixture);
  await callback(other.attempt, report('job-named'));
  assert.equal(await phaseAfterFind(held, providerWith({}, found)), 'held');
});

test('a callback is recorded even after the limit of 100 different find failures', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  for (let n = 0; n < 101; n += 1) {
    await recordEvidence(db, attempt.id, 'find', { failure: `HTTP 500, request ${n}` });
  }
  await recordEvidence(db, attempt.id, 'find', { failure: 'HTTP 500, request 7' });
  await callback(attempt, report('job-recorded', true));
  assert.equal(await phaseAfterFind(held), 'generating');
  const { evidence } = (await detailsOf(fixture, held.id)).attempts[0] ?? { evidence: [] };
  assert.equal(evidence.length, 1 + 100 + 1, 'of the sender, the finds and the callback');
  assert.match(JSON.stringify(evidence), /"times": ?2/, 'a repeated failure is still counted');
});

test('at most ten jobs that unverified callbacks invent are kept and read, and a verified one is still adopted', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  for (let n = 0; n < 30; n += 1) await callback(attempt, report(`invented-${n}`));
  let reads = 0;
  const counting = scriptedProvider({
    find: async () => ABSENT,
    read: async () => {
      reads += 1;
      return { kind: 'missing' };
    },
  });
  assert.equal(await phaseAfterFind(held, counting), 'held');
  assert.equal(reads, 10);
  await callback(attempt, report('job-true', true));
  const adopted = await findAgain(fixture, await readTask(db, held.id), counting);
  assert.equal(adopted.phase, 'generating');
});

test('a named job that can’t be read does not stop the provider’s find', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await callback(attempt, report('job-unreadable'));
  const unreadable = { read: () => Promise.reject(new Error('HTTP 500')) };
  const found = { kind: 'found', jobId: 'job-listed', by: 'mark' } as const;
  const lists = scriptedProvider({ ...unreadable, find: async () => found });
  assert.equal(await phaseAfterFind(held, lists), 'generating');
  const second = await makeHeldTask(fixture);
  await callback(second.attempt, report('job-unreadable-2'));
  const final = { ...ABSENT, proof: 'final' } as const;
  const absent = scriptedProvider({ ...unreadable, find: async () => final });
  const reason = 'the unreadable job may be the attempt’s own';
  assert.equal(await phaseAfterFind(second.held, absent), 'held', reason);
  const [read] = (await detailsOf(fixture, second.held.id)).attempts;
  assert.match(JSON.stringify(read?.evidence), /HTTP 500/);
});

test('a task whose worker died during the submit is held when the find of its job fails', async () => {
  const { task } = await makeSubmittingTask(fixture);
  await insertAttempt(db, task, 'test');
  const failing = scriptedProvider({ find: () => Promise.reject(new Error('HTTP 401')) });
  const held = await findAgain(fixture, task, failing);
  assert.deepEqual([held.phase, held.held_cause], ['held', 'acceptance']);
  const [attempt] = (await detailsOf(fixture, task.id)).attempts;
  assert.equal(attempt?.state, 'unknown');
  assert.match(JSON.stringify(attempt?.evidence), /HTTP 401/);
});

test('strong absence counts only at the identity that the attempt was sent with, and only if the process’s own clock confirms that the submit is over', async () => {
  const strong = providerWith({}, { kind: 'absent', proof: 'strong' });
  const elsewhere = { ...strong, identity: 'another account' };
  await freezeClock(db, 40_000);
  const { held, attempt } = await makeHeldTask(fixture);
  await announce(db, held.id);
  await freezeClock(db, 41_000);
  assert.equal(await phaseAfterFind(held, elsewhere), 'held');
  const clockJumped = { ...submitDeps(fixture, strong), firstSeen: { secondsAgo: () => 0 } };
  const late = await currentAttempt(db, held.id);
  assert.ok(late);
  await findJobOf(clockJumped, await readTask(db, held.id), late);
  assert.equal((await readTask(db, held.id)).phase, 'held');
  await findAgain(fixture, await readTask(db, held.id), strong);
  assert.equal((await readTask(db, held.id)).phase, 'failed');
  assert.equal(attempt.provider_identity, 'test');
});

test('text that Postgres can’t store is replaced in evidence, and the evidence is recorded', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  const failure = `cut ${'🎬'.slice(0, 1)}, ended \0`;
  const failing = scriptedProvider({ find: () => Promise.reject(new Error(failure)) });
  await findAgain(fixture, held, failing);
  await callback(attempt, report('job-odd', true));
  const [{ evidence } = { evidence: [] }] = (await detailsOf(fixture, held.id)).attempts;
  assert.match(JSON.stringify(evidence), /cut �, ended �/);
});

test('a process that has not configured the provider rejects its callback, so that the provider sends it again', async () => {
  const { attempt } = await makeHeldTask(fixture);
  const deps = { ...callbackDeps(fixture, report('job-x')), providers: new Map() };
  const incoming = { provider: 'scripted', segment: `${attempt.id}.token`, headers: {} };
  const receiving = receiveCallback(deps, { ...incoming, body: new Uint8Array() });
  await assert.rejects(receiving, /no provider/);
});

test('after `assumeAbsentAfterHours`, weak absence ends a held task as an assumption, and a job that shows up later is an orphan', async () => {
  await freezeClock(db, 100_000);
  const { held, attempt } = await makeHeldTask(fixture);
  await announce(db, held.id);
  const assuming = { ...providerWith({}), assumeAbsentAfterHours: 2 };
  const findAfter = async (seconds: number, by: Provider) => {
    await freezeClock(db, 100_000 + SEND_WITHIN_SECONDS + seconds);
    return findAgain(fixture, await readTask(db, held.id), by);
  };
  assert.equal((await findAfter(7199, assuming)).phase, 'held', 'too early');
  assert.equal((await findAfter(7201, providerWith({}))).phase, 'held', 'no policy');
  assert.equal((await findAfter(7201, { ...assuming, identity: 'elsewhere' })).phase, 'held');
  const unreadable = scriptedProvider({ find: () => Promise.reject(new Error('HTTP 500')) });
  const failing = { ...unreadable, assumeAbsentAfterHours: 2 };
  assert.equal((await findAfter(7201, failing)).phase, 'held', 'a failed find assumes nothing');
  const ended = await findAfter(7201, assuming);
  assert.deepEqual([ended.phase, ended.error_code], ['failed', 'not_accepted']);
  const { paid } = await balances(db, held.account_id);
  assert.deepEqual(paid, { available: PRICE.credits, reserved: 0 });
  await callback(attempt, report('job-after-assumption', true));
  const { attempts, history, orphan_jobs: orphans } = await detailsOf(fixture, held.id);
  assert.deepEqual([attempts[0]?.state, attempts[0]?.outcome_by], ['absent', 'assumption']);
  assert.match(JSON.stringify(history.at(-1)), /assumed_absent_after_hours/);
  assert.equal(orphans[0]?.state, 'confirmed');
});

test('an attempt that was assumed absent may own a job that looks like another attempt’s', async () => {
  const found = { kind: 'found', jobId: 'job-of-either', by: 'likeness' } as const;
  await freezeClock(db, 200_000);
  const first = await makeHeldTask(fixture);
  const second = await makeHeldTask(fixture);
  await freezeClock(db, 210_000);
  const assuming = { ...providerWith({}), assumeAbsentAfterHours: 2 };
  assert.equal(await phaseAfterFind(second.held, assuming), 'failed');
  assert.equal(await phaseAfterFind(first.held, providerWith({}, found)), 'held');
});
