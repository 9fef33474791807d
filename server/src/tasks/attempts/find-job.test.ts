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

/** A provider that knows these jobs, and whose list shows what is said. */
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

async function lookAgain(task: Task, by: Provider): Promise<Task> {
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

test('a callback wakes its task at once, and the job it names is adopted once read back', async () => {
  await freezeClock(fixture.db, 0);
  const { held, attempt } = await makeHeldTask(fixture);
  assert.equal((await lookAgain(held, provider({}))).phase, 'held');
  assert.equal(await callBack(attempt.id, news('job-1')), 'received');
  const woken = await claimTask(fixture.db, held.id);
  assert.equal((await lookAgain(woken, provider({ 'job-1': 'working' }))).phase, 'generating');
  const [shownAttempt] = (await shown(held.id)).attempts;
  assert.equal(shownAttempt?.outcome_by, 'callback');
  assert.equal(shownAttempt?.job_id, 'job-1');
});

test('a callback that comes while the look-up is under way is not slept over', async () => {
  await freezeClock(fixture.db, 0);
  const { held, attempt } = await makeHeldTask(fixture);
  await freezeClock(fixture.db, 1);
  const hearsMeanwhile = scriptedProvider({
    find: async () => {
      await callBack(attempt.id, news('job-meanwhile'));
      return ABSENT;
    },
  });
  assert.equal((await lookAgain(held, hearsMeanwhile)).phase, 'held');
  assert.equal((await claimTask(fixture.db, held.id)).phase, 'held', 'it is due at once');
});

test('an unsigned callback about a job that the provider does not know changes nothing', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await callBack(attempt.id, news('job-invented'));
  assert.equal((await lookAgain(held, provider({}))).phase, 'held');
});

test('a signed callback is believed without another look', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await callBack(attempt.id, news('job-signed', true));
  assert.equal((await lookAgain(held, provider({}))).phase, 'generating');
});

test('a job that another attempt has is not adopted by a callback', async () => {
  const first = await makeHeldTask(fixture);
  await callBack(first.attempt.id, news('job-owned', true));
  assert.equal((await lookAgain(first.held, provider({}))).phase, 'generating');
  const second = await makeHeldTask(fixture);
  await callBack(second.attempt.id, news('job-owned', true));
  assert.equal((await lookAgain(second.held, provider({}))).phase, 'held');
});

test('a job that is certain to be an orphan is not adopted by a callback', async () => {
  const first = await makeHeldTask(fixture);
  await callBack(first.attempt.id, news('job-orphan', true));
  await reconcile(fixture.db, first.held.id, { kind: 'failed' }, 'the customer can not wait');
  const second = await makeHeldTask(fixture);
  await callBack(second.attempt.id, news('job-orphan', true));
  assert.equal((await lookAgain(second.held, provider({}))).phase, 'held');
});

test('forged callbacks and unknown addresses are not heard', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  assert.equal(await callBack(attempt.id, { kind: 'forged', cause: 'bad signature' }), 'forged');
  assert.equal(await callBack('att_unknown', news('job-x', true)), 'no_such_path');
  assert.equal((await lookAgain(held, provider({}))).phase, 'held');
});

test('a job that only looks alike is taken when no other attempt can have it', async () => {
  const found = { kind: 'found', jobId: 'job-alike', by: 'likeness' } as const;
  await freezeClock(fixture.db, 10_000);
  const first = await makeHeldTask(fixture);
  await freezeClock(fixture.db, 10_100);
  const second = await makeHeldTask(fixture);
  const other = `update tasks set request = request || '{"mode": "image-to-video"}' where id = $1`;
  await sql(fixture.db, other, [second.held.id]);
  assert.equal((await lookAgain(first.held, provider({}, found))).phase, 'held');
  await reconcile(fixture.db, second.held.id, { kind: 'not_accepted' }, 'mistaken, may be');
  const again = await readTask(fixture.db, first.held.id);
  assert.equal(
    (await lookAgain(again, provider({}, found))).phase,
    'held',
    'it may be the other’s',
  );
  const proven = `update attempts set outcome_by = 'find' where id = $1`;
  await sql(fixture.db, proven, [second.attempt.id]);
  assert.equal((await lookAgain(again, provider({}, found))).phase, 'generating');
});

test('a job that a callback named for another attempt is not taken by likeness', async () => {
  const found = { kind: 'found', jobId: 'job-named', by: 'likeness' } as const;
  await freezeClock(fixture.db, 20_000);
  const { held } = await makeHeldTask(fixture);
  await freezeClock(fixture.db, 30_000);
  const other = await makeHeldTask(fixture);
  await callBack(other.attempt.id, news('job-named'));
  assert.equal((await lookAgain(held, provider({}, found))).phase, 'held');
});

test('however often look-ups fail, each in its own words, a callback is heard', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  for (let n = 0; n < 101; n += 1) {
    await recordEvidence(fixture.db, attempt.id, 'find', { failure: `HTTP 500, request ${n}` });
  }
  await recordEvidence(fixture.db, attempt.id, 'find', { failure: 'HTTP 500, request 7' });
  await callBack(attempt.id, news('job-heard', true));
  assert.equal((await lookAgain(held, provider({}))).phase, 'generating');
  const { evidence } = (await shown(held.id)).attempts[0] ?? { evidence: [] };
  assert.equal(evidence.length, 1 + 100 + 1, 'the sender’s, the look-ups’ and the callback’s');
  assert.match(JSON.stringify(evidence), /"times": ?2/, 'one that is known counts up all the same');
});

test('a named job that can not be read does not keep the list from being asked', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await callBack(attempt.id, news('job-unreadable'));
  const unreadable = { read: () => Promise.reject(new Error('HTTP 500')) };
  const found = { kind: 'found', jobId: 'job-listed', by: 'mark' } as const;
  const lists = scriptedProvider({ ...unreadable, find: async () => found });
  assert.equal((await lookAgain(held, lists)).phase, 'generating');
  const second = await makeHeldTask(fixture);
  await callBack(second.attempt.id, news('job-unreadable-2'));
  const absent = scriptedProvider({
    ...unreadable,
    find: async () => ({ ...ABSENT, proof: 'final' }),
  });
  await assert.rejects(lookAgain(second.held, absent), /HTTP 500/, 'it may be the job');
});

test('strong absence counts only where the attempt was sent, and by our own clock too', async () => {
  const strong = provider({}, { kind: 'absent', proof: 'strong' });
  const elsewhere = { ...strong, identity: 'another account' };
  await freezeClock(fixture.db, 40_000);
  const { held, attempt } = await makeHeldTask(fixture);
  await announce(fixture.db, held.id);
  await freezeClock(fixture.db, 41_000);
  assert.equal((await lookAgain(held, elsewhere)).phase, 'held');
  const jumped = { ...submitDeps(fixture, strong), firstSeen: { secondsAgo: () => 0 } };
  const late = await liveAttempt(fixture.db, held.id);
  assert.ok(late);
  await findJobOf(jumped, await readTask(fixture.db, held.id), late);
  assert.equal((await readTask(fixture.db, held.id)).phase, 'held');
  await lookAgain(await readTask(fixture.db, held.id), strong);
  assert.equal((await readTask(fixture.db, held.id)).phase, 'failed');
  assert.equal(attempt.provider_identity, 'test');
});

test('words that can not be stored as they are do not keep anything from being recorded', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  const failure = `cut ${'🎬'.slice(0, 1)}, ended \0`;
  const failing = scriptedProvider({ find: () => Promise.reject(new Error(failure)) });
  await assert.rejects(lookAgain(held, failing), { message: failure });
  await callBack(attempt.id, news('job-odd', true));
  const [{ evidence } = { evidence: [] }] = (await shown(held.id)).attempts;
  assert.match(JSON.stringify(evidence), /cut �, ended �/);
});

test('a process that does not know the provider does not take its callback', async () => {
  const { attempt } = await makeHeldTask(fixture);
  const deps = { ...callbackDeps(news('job-x')), providers: new Map() };
  const incoming = { provider: 'scripted', segment: `${attempt.id}.token`, headers: {} };
  await assert.rejects(
    receiveCallback(deps, { ...incoming, body: new Uint8Array() }),
    /no provider/,
  );
});

test('the evidence shows times, bytes and what each look-up said, without repeating itself', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await lookAgain(held, provider({}));
  await lookAgain(await readTask(fixture.db, held.id), provider({}));
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

test('an operator adopts a job, once, with a reason that is kept', async () => {
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

test('an operator’s refusal refunds, and a job that shows up later is an orphan', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await announce(fixture.db, held.id);
  await reconcile(fixture.db, held.id, { kind: 'not_accepted' }, 'the console shows none');
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

test('suspects of a provider that is not configured keep no others from being asked about', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await reconcile(fixture.db, held.id, { kind: 'not_accepted' }, 'the console shows none');
  await sql(
    fixture.db,
    `insert into orphan_jobs (provider, job_id, attempt_id, task_id, source, state, found_at)
     select 'gone', 'job-gone-' || n, $1, $2, 'callback', 'suspected', '-infinity'
     from generate_series(1, 30) n`,
    [attempt.id, held.id],
  );
  await callBack(attempt.id, news('job-asked'));
  const providers = new Map([['scripted', provider({ 'job-asked': 'working' })]]);
  const told: unknown[] = [];
  const log = { ...quiet, error: (fields: unknown) => told.push(fields) } as unknown as Log;
  for (let round = 0; round < 2; round += 1) {
    await checkOrphans({ db: fixture.db, log, providers });
  }
  const ours = told.filter((fields) => JSON.stringify(fields).includes(held.id));
  assert.deepEqual(ours, [{ task: held.id, job: 'job-asked', provider: 'scripted' }], 'once');
});

test('given up without knowing, the client is refunded and the named job is an orphan', async () => {
  const { held, attempt } = await makeHeldTask(fixture);
  await callBack(attempt.id, news('job-doubtful', true));
  await reconcile(fixture.db, held.id, { kind: 'failed' }, 'the customer can not wait');
  assert.equal((await readTask(fixture.db, held.id)).error_code, 'provider_unavailable');
  const { orphan_jobs: orphans } = await shown(held.id);
  assert.deepEqual(
    orphans.map(({ job_id }) => job_id),
    ['job-doubtful'],
  );
});

test('operator and look-up race: exactly one of them decides', async () => {
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

test('what an operator decides is free for the next worker, and a slow look-up has no say', async () => {
  const { held } = await makeHeldTask(fixture);
  let taken: Task | undefined;
  const slow = scriptedProvider({
    find: async () => {
      await reconcile(fixture.db, held.id, { kind: 'accepted', jobId: 'job-known' }, 'seen');
      taken = await claimTask(fixture.db, held.id);
      return ABSENT;
    },
  });
  assert.equal((await lookAgain(held, slow)).phase, 'generating');
  assert.equal(taken?.phase, 'generating');
  assert.equal(await claim(fixture.db, held.id), undefined, 'who took it still has it');
});

test('two operators race: one decides, the other is told', async () => {
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

test('a decision about something else than what is held is refused and changes nothing', async () => {
  const { held } = await makeHeldTask(fixture);
  const taken = await makeHeldTask(fixture);
  await reconcile(fixture.db, taken.held.id, { kind: 'accepted', jobId: 'job-mine' }, 'seen');
  const steal = reconcile(fixture.db, held.id, { kind: 'accepted', jobId: 'job-mine' }, 'mistaken');
  await assert.rejects(steal, { message: 'job job-mine belongs to another task already' });
  const nothing = reconcile(fixture.db, 'task_none', { kind: 'failed' }, 'x');
  await assert.rejects(nothing, { message: 'there is no task "task_none"' });
  assert.equal((await readTask(fixture.db, held.id)).phase, 'held');
});
