import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTaskFixture } from '../../test/task-fixtures.ts';
import { type JobOf, openJobTimes } from './job-times.ts';

const fixture = await openTaskFixture();
const { db } = fixture;
after(() => fixture.close());

function jobOf(provider: string, duration = 5, id = ''): JobOf & { id: string } {
  const request = { model: 'video-2.0-mini', resolution: '720p', duration };
  return { id, provider, request: request as JobOf['request'] };
}

test('what one process learns of a kind of jobs, another one knows', async () => {
  const [one, other] = [openJobTimes(db), openJobTimes(db)];
  for (const seconds of [58, 60, 62]) one.observe(jobOf('learned'), seconds);
  assert.equal(other.expected(jobOf('learned')), undefined);
  await one.exchange();
  await other.exchange();
  const expected = other.expected(jobOf('learned'));
  assert.equal(expected?.meanSeconds, 60);
  assert.ok(Math.abs((expected?.deviationSeconds ?? 0) - 4 / 3) < 1e-9);
  assert.equal(other.expected(jobOf('learned', 6)), undefined);
});

test('two jobs are too few, and new ones count more than old ones', async () => {
  const times = openJobTimes(db);
  for (const seconds of [10, 10]) times.observe(jobOf('changing'), seconds);
  await times.exchange();
  assert.equal(times.expected(jobOf('changing')), undefined);
  for (let round = 0; round < 60; round += 1) {
    times.observe(jobOf('changing'), 30);
    await times.exchange();
  }
  const mean = times.expected(jobOf('changing'))?.meanSeconds ?? 0;
  assert.ok(mean > 28 && mean <= 30, `${mean} s`);
});

test('a job that was found after a pause may have ended at any time of it', async () => {
  const times = openJobTimes(db);
  const observe = (id: string, seconds: number) => times.observe(jobOf('paused', 5, id), seconds);
  for (const id of ['one', 'two']) times.working(id, { seconds: 40, pauseSeconds: 15 });
  times.working('woken', { seconds: 40, pauseSeconds: 15 });
  times.working('woken', { seconds: 45, pauseSeconds: 15 });
  observe('one', 56);
  observe('two', 60);
  observe('woken', 52);
  await times.exchange();
  times.expected(jobOf('paused'));
  assert.equal(times.expected(jobOf('paused'))?.meanSeconds, (48 + 50 + 52) / 3);
});

test('processes that learn at the same time lose nothing', async () => {
  const processes = [1, 2, 3, 4].map(() => openJobTimes(db));
  for (const process of processes) process.observe(jobOf('shared'), 20);
  await Promise.all(processes.map((process) => process.exchange()));
  await processes[0]?.exchange();
  processes[0]?.expected(jobOf('shared'));
  await processes[0]?.exchange();
  assert.equal(processes[0]?.expected(jobOf('shared'))?.jobs, 4);
});
