import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { freezeClock } from '../../test/frozen-clock.ts';
import {
  claim,
  claimTask,
  makeSubmittingTask,
  makeTask,
  openTaskFixture,
  REQUEST,
  recordAccepted,
  sql,
} from '../../test/task-fixtures.ts';
import { forgetFutureRequests } from '../accounts/admission.ts';
import { LEASE_SECONDS, moveNow, postpone } from '../tasks/transitions.ts';
import { repairClockJump } from './clock-jump.ts';
import { openJobTimes, recentTimes, type TimedTask } from './job-times.ts';

const HOUR = 3600;

const fixture = await openTaskFixture();
const { db } = fixture;

const repair = () => repairClockJump({ db, log: quiet, forgetFuture: forgetFutureRequests });

test('after the database’s clock is set back an hour, due work is done at once', async () => {
  await freezeClock(db, 10 * HOUR);
  await repair();
  const { task } = await makeTask(fixture);
  const postponed = await claimTask(db, task.id);
  await postpone(db, postponed, { seconds: 30 });
  await freezeClock(db, 9 * HOUR);
  assert.equal(await claim(db, task.id), undefined, 'its time is an hour ahead');
  assert.equal(await repair(), HOUR);
  assert.equal((await claim(db, task.id))?.id, task.id);
  assert.equal(await repair(), 0, 'a jump is repaired once');
});

test('after the clock is set back, the lease of a dead worker still ends within its usual time', async () => {
  await freezeClock(db, 20 * HOUR);
  await repair();
  const { task } = await makeTask(fixture);
  await claimTask(db, task.id);
  await freezeClock(db, 19 * HOUR);
  await repair();
  assert.equal(await claim(db, task.id), undefined, 'its worker may live, and renew it');
  await freezeClock(db, 19 * HOUR + LEASE_SECONDS + 1);
  assert.equal((await claim(db, task.id))?.id, task.id);
});

test('requests in the future do not fill the rate window of a key', async () => {
  await freezeClock(db, 30 * HOUR);
  await repair();
  const hits = () => sql(db, 'select hits from request_windows where subject = $1', ['key_jump']);
  await sql(db, 'insert into accounts (id, email) values ($1, $1)', ['acct_jump']);
  await sql(
    db,
    `insert into api_keys (id, account_id, secret_hash) values ('key_jump', 'acct_jump', 'x')`,
  );
  await sql(
    db,
    `insert into request_windows (subject, hits) values ('key_jump', array[clock_now()])`,
  );
  await freezeClock(db, 29 * HOUR);
  await repair();
  assert.deepEqual(await hits(), [{ hits: [] }]);
});

test('a clock that goes on, or is corrected by a few seconds, changes nothing', async () => {
  await freezeClock(db, 40 * HOUR);
  await repair();
  const { task } = await makeTask(fixture);
  await postpone(db, await claimTask(db, task.id), { seconds: 30 });
  await freezeClock(db, 40 * HOUR - 4);
  assert.equal(await repair(), 0);
  await freezeClock(db, 40 * HOUR + 1);
  assert.equal(await repair(), 0);
  assert.equal(await claim(db, task.id), undefined);
});

function jobOf(provider: string, duration = 5, id = ''): TimedTask & { id: string } {
  const request = { model: 'video-2.0-mini', resolution: '720p', duration };
  return { id, provider, request: request as TimedTask['request'] };
}

test('what one process learns about a kind of job, another process knows', async () => {
  const [one, other] = [openJobTimes(db), openJobTimes(db)];
  for (const seconds of [58, 60, 62]) one.observeEnd(jobOf('learned'), seconds);
  assert.equal(other.expectedTime(jobOf('learned')), undefined);
  await one.exchange();
  await other.exchange();
  const expected = other.expectedTime(jobOf('learned'));
  assert.equal(expected?.meanSeconds, 60);
  assert.ok(Math.abs((expected?.deviationSeconds ?? 0) - 4 / 3) < 1e-9);
  assert.equal(other.expectedTime(jobOf('learned', 6)), undefined);
});

test('two jobs are too few, and new ones count more than old ones', async () => {
  const times = openJobTimes(db);
  for (const seconds of [10, 10]) times.observeEnd(jobOf('changing'), seconds);
  await times.exchange();
  assert.equal(times.expectedTime(jobOf('changing')), undefined);
  for (let round = 0; round < 60; round += 1) {
    times.observeEnd(jobOf('changing'), 30);
    await times.exchange();
  }
  const mean = times.expectedTime(jobOf('changing'))?.meanSeconds ?? 0;
  assert.ok(mean > 28 && mean <= 30, `${mean} s`);
});

test('a job that ended in a pause between two reads counts as ended in the middle', async () => {
  const times = openJobTimes(db);
  const observe = (id: string, seconds: number) =>
    times.observeEnd(jobOf('paused', 5, id), seconds);
  for (const id of ['one', 'two']) times.observeWorking(id, { seconds: 40, pauseSeconds: 15 });
  times.observeWorking('woken', { seconds: 40, pauseSeconds: 15 });
  times.observeWorking('woken', { seconds: 45, pauseSeconds: 15 });
  observe('one', 56);
  observe('two', 60);
  observe('woken', 52);
  await times.exchange();
  times.expectedTime(jobOf('paused'));
  assert.equal(times.expectedTime(jobOf('paused'))?.meanSeconds, (48 + 50 + 52) / 3);
});

test('processes that learn at the same time lose nothing', async () => {
  const processes = [1, 2, 3, 4].map(() => openJobTimes(db));
  for (const process of processes) process.observeEnd(jobOf('shared'), 20);
  await Promise.all(processes.map((process) => process.exchange()));
  await processes[0]?.exchange();
  processes[0]?.expectedTime(jobOf('shared'));
  await processes[0]?.exchange();
  assert.equal(processes[0]?.expectedTime(jobOf('shared'))?.jobs, 4);
});

test('the recent time of a connection is the median of its jobs of the last hour', async () => {
  for (const [seconds, minutesAgo] of [
    [90, 1],
    [40, 2],
    [48, 3],
    [5, 61],
  ] as const) {
    const { task } = await makeSubmittingTask(fixture);
    await recordAccepted(db, task.id);
    const generating = await moveNow(db, task, { to: 'generating' });
    await moveNow(db, generating, { to: 'archiving' });
    const query = `with ended as (update task_history set at = at + $2 * interval '1 second'
        where task_id = $1 and phase = 'archiving')
      update tasks set created_at = created_at - $3 * interval '1 minute' where id = $1`;
    await sql(db, query, [task.id, seconds, minutesAgo]);
  }
  const [{ seconds = 0, ...kind } = {}, ...others] = await recentTimes(db);
  const { model, resolution } = REQUEST;
  assert.deepEqual([kind, others], [{ connection: 'scripted', model, resolution }, []]);
  assert.equal(Math.round(seconds), 48);
});
