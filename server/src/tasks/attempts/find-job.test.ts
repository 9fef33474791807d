import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { quiet } from '../../../test/database.ts';
import { freezeClock } from '../../../test/frozen-clock.ts';
import {
  claimTask,
  makeHeldTask,
  openTaskFixture,
  PRICE,
  scriptedProvider,
  sql,
  submitDeps,
  type TaskFixture,
} from '../../../test/task-fixtures.ts';
import { UsageError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { balances } from '../../ledger/ledger.ts';
import { reconcile } from '../../operator/reconcile.ts';
import { showTask } from '../../operator/task-listing.ts';
import type { Callback, FindOutcome, JobStatus, Provider } from '../../providers/provider.ts';
import { announce } from '../create/announce.ts';
import { readTask } from '../create/create.ts';
import { claim } from '../lease.ts';
import type { Task } from '../task.ts';
import { Superseded } from '../transitions.ts';
import { liveAttempt } from './attempts.ts';
import { type CallbackDeps, receiveCallback } from './callback.ts';
import { recordEvidence } from './evidence.ts';
import { findJobOf } from './find-job.ts';
import { checkOrphans } from './orphan-check.ts';

let fixture: TaskFixture;

before(async () => {
  fixture = await openTaskFixture();
});
after(() => fixture.closeAudited());

const ABSENT: FindOutcome = { kind: 'absent', proof: 'weak' };

/** A provider that knows these jobs and whose `find` returns `listed`. */
function provider(jobs: Record<string, JobStatus['kind']>, listed: FindOutcome = ABSENT): Provider {
  return scriptedProvider({
    find: async () => listed,
    read: async (jobId) => (jobs[jobId] === 'working' ? { kind: 'working' } : { kind: 'missing' }),
  });
}

function callbackDeps(said: Callback): CallbackDeps {
  const scripted = scriptedProvider({ readCallback: async () => said });
  return {
    ...{ db: fixture.db, log: quiet, providers: new Map([['scripted', scripted]]) },
    links: { attemptOf: (_provider, segment) => segment.split('.')[0] },
  };
}

function callBack(attemptId: string, said: Callback) {
  const incoming = { provider: 'scripted', segment: `${attemptId}.token`, body: new Uint8Array() };
  return receiveCallback(callbackDeps(said), { ...incoming, headers: {} });
}

const news = (jobId: string | null, verified = false) =>
  ({ kind: 'news', jobId, verified }) as const;

async function findAgain(task: Task, by: Provider): Promise<Task> {
  const attempt = await liveAttempt(fixture.db, task.id);
  assert.ok(attempt);
  await findJobOf(submitDeps(fixture, by), task, attempt);
  return readTask(fixture.db, task.id);
}

interface Shown {
  attempts: { state: string; outcome_by: string; job_id: string; evidence: object[] }[];
  orphan_jobs: { job_id: string; state: string; source: string }[];
  history: { cause: object }[];
}

async function shown(taskId: string): Promise<Shown> {
  return (await showTask(fixture.db, taskId)) as Shown;
}

test('a callback wakes its task, and the job it names is adopted when the provider knows it', async () => {
  await freezeClock(fixture.db, 0);
  const { held, attempt } = await makeHeldTask(fixture);
  assert.equal((await findAgain(held, provider({}))).phase, 'held');
  assert.equal(await callBack(attempt.id, news('job-1')), 'received');
  const woken = await claimTask(fixture.db, held.id);
  assert.equal((await findAgain(woken, provider({ 'job-1': 'working' }))).phase, 'generating');
  const [shownAttempt] = (await shown(held.id)).attempts;
  assert.equal(shownAttempt?.outcome_by, 'callback');
  assert.equal(shownAttempt?.job_id, 'job-1');
});

test('a callback during a find is kept: the task is due at once', async () => {
  await freezeClock(fixture.db, 0);
  const { held, attempt } = await makeHeldTask(fixture);
  await freezeClock(fixture.db, 1);
  const callsBackMeanwhile = scriptedProvider({
    find: async () => {
      await callBack(attempt.id, news('job-meanwhile'));
      return ABSENT;
    },
  });
  assert.equal((await findAgain(held, callsBackMeanwhile)).phase, 'held');
  assert.equal((await claimTask(fixture.db, held.id)).phase, 'held', 'it is due at once');
});

test('an unsigned callback about a job that the provider does not know changes nothing', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await callBack(attempt.id, news('job-invented'));
  assert.equal((await findAgain(held, provider({}))).phase, 'held');
});

test('a job that a signed callback named is adopted without asking the provider', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await callBack(attempt.id, news('job-signed', true));
  assert.equal((await findAgain(held, provider({}))).phase, 'generating');
});

test('a callback does not adopt a job of another attempt', async () => {
  const first = await makeHeldTask(fixture);
  await callBack(first.attempt.id, news('job-owned', true));
  assert.equal((await findAgain(first.held, provider({}))).phase, 'generating');
  const second = await makeHeldTask(fixture);
  await callBack(second.attempt.id, news('job-owned', true));
  assert.equal((await findAgain(second.held, provider({}))).phase, 'held');
});

test('a callback does not adopt a confirmed orphan job', async () => {
  const first = await makeHeldTask(fixture);
  await callBack(first.attempt.id, news('job-orphan', true));
  await reconcile(fixture.db, first.held.id, { kind: 'failed' }, 'the customer can’t wait');
  const second = await makeHeldTask(fixture);
  await callBack(second.attempt.id, news('job-orphan', true));
  assert.equal((await findAgain(second.held, provider({}))).phase, 'held');
});

test('forged callbacks and unknown addresses change nothing', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  assert.equal(await callBack(attempt.id, { kind: 'forged', cause: 'bad signature' }), 'forged');
  assert.equal(await callBack('att_unknown', news('job-x', true)), 'no_such_path');
  assert.equal((await findAgain(held, provider({}))).phase, 'held');
});

test('a job found by likeness is adopted only if no other attempt can own it', async () => {
  const found = { kind: 'found', jobId: 'job-alike', by: 'likeness' } as const;
  await freezeClock(fixture.db, 10_000);
  const first = await makeHeldTask(fixture);
  await freezeClock(fixture.db, 10_100);
  const second = await makeHeldTask(fixture);
  const other = `update tasks set request = request || '{"mode": "image-to-video"}' where id = $1`;
  await sql(fixture.db, other, [second.held.id]);
  assert.equal((await findAgain(first.held, provider({}, found))).phase, 'held');
  await reconcile(fixture.db, second.held.id, { kind: 'not_accepted' }, 'may be a mistake');
  const again = await readTask(fixture.db, first.held.id);
  assert.equal(
    (await findAgain(again, provider({}, found))).phase,
    'held',
    'it may belong to the other attempt',
  );
  const proven = `update attempts set outcome_by = 'find' where id = $1`;
  await sql(fixture.db, proven, [second.attempt.id]);
  assert.equal((await findAgain(again, provider({}, found))).phase, 'generating');
});

test('a job that a callback named for another attempt is not adopted by likeness', async () => {
  const found = { kind: 'found', jobId: 'job-named', by: 'likeness' } as const;
  await freezeClock(fixture.db, 20_000);
  const { held } = await makeHeldTask(fixture);
  await freezeClock(fixture.db, 30_000);
  const other = await makeHeldTask(fixture);
  await callBack(other.attempt.id, news('job-named'));
  assert.equal((await findAgain(held, provider({}, found))).phase, 'held');
});

test('a callback is recorded however many different failures of finds there are', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  for (let n = 0; n < 101; n += 1) {
    await recordEvidence(fixture.db, attempt.id, 'find', { failure: `HTTP 500, request ${n}` });
  }
  await recordEvidence(fixture.db, attempt.id, 'find', { failure: 'HTTP 500, request 7' });
  await callBack(attempt.id, news('job-recorded', true));
  assert.equal((await findAgain(held, provider({}))).phase, 'generating');
  const { evidence } = (await shown(held.id)).attempts[0] ?? { evidence: [] };
  assert.equal(evidence.length, 1 + 100 + 1, 'the sender’s, the finds’ and the callback’s');
  assert.match(JSON.stringify(evidence), /"times": ?2/, 'a repeated failure is still counted');
});

test('a named job that can’t be read does not stop the provider’s find', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await callBack(attempt.id, news('job-unreadable'));
  const unreadable = { read: () => Promise.reject(new Error('HTTP 500')) };
  const found = { kind: 'found', jobId: 'job-listed', by: 'mark' } as const;
  const lists = scriptedProvider({ ...unreadable, find: async () => found });
  assert.equal((await findAgain(held, lists)).phase, 'generating');
  const second = await makeHeldTask(fixture);
  await callBack(second.attempt.id, news('job-unreadable-2'));
  const absent = scriptedProvider({
    ...unreadable,
    find: async () => ({ ...ABSENT, proof: 'final' }),
  });
  await assert.rejects(
    findAgain(second.held, absent),
    /HTTP 500/,
    'the unreadable job may be the one',
  );
});

test('strong absence counts only where the attempt was sent, and only by the process’s own clock too', async () => {
  const strong = provider({}, { kind: 'absent', proof: 'strong' });
  const elsewhere = { ...strong, identity: 'another account' };
  await freezeClock(fixture.db, 40_000);
  const { held, attempt } = await makeHeldTask(fixture);
  await announce(fixture.db, held.id);
  await freezeClock(fixture.db, 41_000);
  assert.equal((await findAgain(held, elsewhere)).phase, 'held');
  const jumped = { ...submitDeps(fixture, strong), firstSeen: { secondsAgo: () => 0 } };
  const late = await liveAttempt(fixture.db, held.id);
  assert.ok(late);
  await findJobOf(jumped, await readTask(fixture.db, held.id), late);
  assert.equal((await readTask(fixture.db, held.id)).phase, 'held');
  await findAgain(await readTask(fixture.db, held.id), strong);
  assert.equal((await readTask(fixture.db, held.id)).phase, 'failed');
  assert.equal(attempt.provider_identity, 'test');
});

test('text that Postgres can’t store is replaced in evidence, and the evidence is recorded', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  const failure = `cut ${'🎬'.slice(0, 1)}, ended \0`;
  const failing = scriptedProvider({ find: () => Promise.reject(new Error(failure)) });
  await assert.rejects(findAgain(held, failing), { message: failure });
  await callBack(attempt.id, news('job-odd', true));
  const [{ evidence } = { evidence: [] }] = (await shown(held.id)).attempts;
  assert.match(JSON.stringify(evidence), /cut �, ended �/);
});

test('a process without the provider rejects its callback, so that it is sent again', async () => {
  const { attempt } = await makeHeldTask(fixture);
  const deps = { ...callbackDeps(news('job-x')), providers: new Map() };
  const incoming = { provider: 'scripted', segment: `${attempt.id}.token`, headers: {} };
  await assert.rejects(
    receiveCallback(deps, { ...incoming, body: new Uint8Array() }),
    /no provider/,
  );
});

test('the evidence has counts, bytes sent and each different finding once', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await findAgain(held, provider({}));
  await findAgain(await readTask(fixture.db, held.id), provider({}));
  await callBack(attempt.id, news(null));
  const [one] = (await shown(held.id)).attempts;
  const evidence = one?.evidence.map((row) => {
    const { source, finding, times } = row as { source: string; finding: object; times: number };
    return { source, finding, times };
  });
  const sender = { kind: 'unknown', cause: 'timed out', bytesSent: 700 };
  assert.deepEqual(evidence, [
    { source: 'sender', finding: sender, times: 1 },
    { source: 'find', finding: ABSENT, times: 2 },
    { source: 'callback', finding: { job: null, verified: false }, times: 1 },
  ]);
});

test('an operator’s job is adopted once, and the reason is kept', async () => {
  const { held } = await makeHeldTask(fixture);
  const decision = { kind: 'accepted', jobId: 'job-console' } as const;
  const done = await reconcile(fixture.db, held.id, decision, 'seen in the console');
  assert.deepEqual(done, { task_id: held.id, phase: 'generating' });
  const { attempts, history } = await shown(held.id);
  assert.equal(attempts[0]?.outcome_by, 'operator');
  assert.match(JSON.stringify(history.at(-1)), /seen in the console/);
  const again = reconcile(fixture.db, held.id, { kind: 'failed' }, 'twice');
  await assert.rejects(again, { name: 'UsageError', message: /is generating, not held/ });
});

test('not accepted by an operator decision: refunded, and a job that shows up later is an orphan', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await announce(fixture.db, held.id);
  await reconcile(fixture.db, held.id, { kind: 'not_accepted' }, 'not in the console');
  const refunded = { available: PRICE.credits, reserved: 0 };
  assert.deepEqual((await balances(fixture.db, held.account_id)).paid, refunded);
  await callBack(attempt.id, news('job-late'));
  await callBack(attempt.id, news('job-false'));
  const providers = new Map([['scripted', provider({ 'job-late': 'working' })]]);
  await checkOrphans({ db: fixture.db, log: quiet, providers });
  const { orphan_jobs: orphans } = await shown(held.id);
  assert.deepEqual(Object.fromEntries(orphans.map(({ job_id, state }) => [job_id, state])), {
    'job-late': 'confirmed',
    'job-false': 'unknown_there',
  });
  assert.equal(
    (await readTask(fixture.db, held.id)).phase,
    'failed',
    'an ended task never changes',
  );
});

test('suspected orphans of a provider that is not configured do not stop the check of others', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await reconcile(fixture.db, held.id, { kind: 'not_accepted' }, 'not in the console');
  await sql(
    fixture.db,
    `insert into orphan_jobs (provider, job_id, attempt_id, task_id, source, state, found_at)
     select 'gone', 'job-gone-' || n, $1, $2, 'callback', 'suspected', '-infinity'
     from generate_series(1, 30) n`,
    [attempt.id, held.id],
  );
  await callBack(attempt.id, news('job-asked'));
  const providers = new Map([['scripted', provider({ 'job-asked': 'working' })]]);
  const logged: unknown[] = [];
  const log = { ...quiet, error: (fields: unknown) => logged.push(fields) } as unknown as Log;
  for (let round = 0; round < 2; round += 1) {
    await checkOrphans({ db: fixture.db, log, providers });
  }
  const ours = logged.filter((fields) => JSON.stringify(fields).includes(held.id));
  assert.deepEqual(ours, [{ task: held.id, job: 'job-asked', provider: 'scripted' }], 'once');
});

test('failed by an operator decision: refunded, and the job that a callback named is an orphan', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await callBack(attempt.id, news('job-doubtful', true));
  await reconcile(fixture.db, held.id, { kind: 'failed' }, 'the customer can’t wait');
  assert.equal((await readTask(fixture.db, held.id)).error_code, 'provider_unavailable');
  const { orphan_jobs: orphans } = await shown(held.id);
  assert.deepEqual(
    orphans.map(({ job_id }) => job_id),
    ['job-doubtful'],
  );
});

test('of an operator decision and a find at the same time exactly one applies', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { held, attempt } = await makeHeldTask(fixture);
    const found = { kind: 'found', jobId: `job-race-${round}`, by: 'mark' } as const;
    const deps = submitDeps(fixture, provider({}, found));
    const [automatic, operator] = await Promise.allSettled([
      findJobOf(deps, held, attempt),
      reconcile(fixture.db, held.id, { kind: 'not_accepted' }, 'race'),
    ]);
    const { phase } = await readTask(fixture.db, held.id);
    if (phase === 'generating') {
      assert.ok(operator.status === 'rejected' && operator.reason instanceof UsageError);
    } else {
      assert.equal(phase, 'failed');
      assert.ok(automatic.status === 'rejected' && automatic.reason instanceof Superseded);
    }
  }
});

test('after a decision the next worker may go on, and a slow find changes nothing', async () => {
  const { held } = await makeHeldTask(fixture);
  let taken: Task | undefined;
  const slow = scriptedProvider({
    find: async () => {
      await reconcile(fixture.db, held.id, { kind: 'accepted', jobId: 'job-known' }, 'seen');
      taken = await claimTask(fixture.db, held.id);
      return ABSENT;
    },
  });
  assert.equal((await findAgain(held, slow)).phase, 'generating');
  assert.equal(taken?.phase, 'generating');
  assert.equal(
    await claim(fixture.db, held.id),
    undefined,
    'the worker that claimed it still has it',
  );
});

test('of two operator decisions at the same time one applies, the other is refused', async () => {
  const { held } = await makeHeldTask(fixture);
  const decide = () => reconcile(fixture.db, held.id, { kind: 'failed' }, 'race');
  const results = await Promise.allSettled([decide(), decide()]);
  assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  const transfers = await sql(
    fixture.db,
    `select 1 from task_reservations where task_id = $1 and outcome = 'refund'`,
    [held.id],
  );
  assert.equal(transfers.length, 1);
});

test('a decision that does not fit the held task is refused and changes nothing', async () => {
  const { held } = await makeHeldTask(fixture);
  const taken = await makeHeldTask(fixture);
  await reconcile(fixture.db, taken.held.id, { kind: 'accepted', jobId: 'job-mine' }, 'seen');
  const wrong = reconcile(
    fixture.db,
    held.id,
    { kind: 'accepted', jobId: 'job-mine' },
    'a mistake',
  );
  await assert.rejects(wrong, { message: 'job job-mine belongs to another task already' });
  const nothing = reconcile(fixture.db, 'task_none', { kind: 'failed' }, 'x');
  await assert.rejects(nothing, { message: 'there is no task "task_none"' });
  assert.equal((await readTask(fixture.db, held.id)).phase, 'held');
});
