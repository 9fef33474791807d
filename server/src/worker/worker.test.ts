import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { makeTask, openTaskFixture, sql, type TaskFixture } from '../../test/task-fixtures.ts';
import { until } from '../../test/until.ts';
import type { HostedProvider } from '../providers/provider.ts';
import { type Phase, readTask, type Task } from '../tasks/task.ts';
import { moveNow, postpone, type StepResult, Superseded } from '../tasks/transitions.ts';
import type { Steps } from './steps.ts';
import { createWorker, type Worker } from './worker.ts';

/** A started worker with the steps of a test, after which it is stopped. */
async function startWorker(
  t: TestContext,
  fixture: TaskFixture,
  steps: Partial<Steps>,
  provider: Pick<HostedProvider, 'nearReads'> = {},
): Promise<Worker> {
  const all: Steps = {
    run: async () => {
      throw new Error('no step was expected');
    },
    handleFailure: async (task) =>
      postpone(fixture.db, task, { seconds: 3600, internalFailures: 1 }),
    ...steps,
  };
  const { db, wakeUps } = fixture;
  const providers = new Map([['scripted', provider]]);
  const worker = createWorker({ db, wakeUps, log: quiet, steps: all, providers });
  await worker.start();
  t.after(async () => {
    await worker.stopClaiming();
    await worker.stop(10);
  });
  return worker;
}

function untilIn(fixture: TaskFixture, taskId: string, phase: Phase): Promise<Task> {
  return until(
    () => readTask(fixture.db, taskId),
    (task) => task.phase === phase,
  );
}

/** Moves a task to its next phase; postpones it once it generates. */
async function advance(fixture: TaskFixture, task: Task): Promise<StepResult> {
  if (task.phase === 'reserved') return moveNow(fixture.db, task, { to: 'submitting' });
  if (task.phase === 'submitting') return moveNow(fixture.db, task, { to: 'generating' });
  return postpone(fixture.db, task, { seconds: 3600 });
}

test('the steps of a task run under one lease, but a poll that waits for its turn is claimed anew', async (t) => {
  await checkLeases(t, {}, 1);
  await checkLeases(t, { nearReads: async () => 1 }, 2);
});

/** @param provider of the worker @param pollLease the number of the lease of the first poll */
async function checkLeases(
  t: TestContext,
  provider: Pick<HostedProvider, 'nearReads'>,
  pollLease: number,
): Promise<void> {
  const fixture = await openTaskFixture();
  const seen: Array<[Phase, number]> = [];
  const run = (task: Task) => {
    seen.push([task.phase, task.lease]);
    return advance(fixture, task);
  };
  await startWorker(t, fixture, { run }, provider);
  const { task } = await makeTask(fixture);
  await until(async () => seen.length === 3);
  assert.deepEqual(seen, [
    ['reserved', 1],
    ['submitting', 1],
    ['generating', pollLease],
  ]);
  assert.equal((await readTask(fixture.db, task.id)).phase, 'generating');
}

test('the sweep finds tasks without a wake-up, also those that a dead worker had leased', async (t) => {
  const fixture = await openTaskFixture();
  const { task } = await makeTask(fixture);
  const lease = `update tasks set lease = 7, leased_until = clock_now() - interval '1 second'`;
  await sql(fixture.db, lease);
  const deaf = { ...fixture, wakeUps: { ...fixture.wakeUps, listen: () => {} } };
  await startWorker(t, deaf, { run: (taken) => advance(fixture, taken) });
  const moved = await untilIn(fixture, task.id, 'generating');
  assert.ok(moved.lease >= 8, `lease ${moved.lease}`); // 9 once the pool of polls has it
});

test('handleFailure is called for a step that fails, not for one that was superseded', async (t) => {
  const fixture = await openTaskFixture();
  const internalFailures: string[] = [];
  const [broken, taken] = [await makeTask(fixture), await makeTask(fixture)];
  const tried = new Set<string>();
  await startWorker(t, fixture, {
    run: async (task) => {
      tried.add(task.id);
      if (task.id === broken.task.id) throw new Error('internal');
      throw new Superseded('moved by another worker');
    },
    handleFailure: async (task, error) => {
      const result = await postpone(fixture.db, task, { seconds: 3600, internalFailures: 1 });
      internalFailures.push(`${task.id} ${error instanceof Error && error.message}`);
      return result;
    },
  });
  await until(async () => tried.size === 2 && internalFailures.length === 1);
  assert.deepEqual(internalFailures, [`${broken.task.id} internal`]);
  assert.equal((await readTask(fixture.db, broken.task.id)).internal_failures, 1);
  assert.ok(tried.has(taken.task.id));
});

test('a worker that stops finishes the step under way, starts no other step and releases the lease', async (t) => {
  const fixture = await openTaskFixture();
  const entered = Promise.withResolvers<void>();
  const goAhead = Promise.withResolvers<void>();
  const seen: Phase[] = [];
  const worker = await startWorker(t, fixture, {
    run: async (task) => {
      seen.push(task.phase);
      entered.resolve();
      await goAhead.promise;
      return advance(fixture, task);
    },
  });
  const { task } = await makeTask(fixture);
  await entered.promise;
  await worker.stopClaiming();
  const stopped = worker.stop(60);
  const second = await makeTask(fixture);
  goAhead.resolve();
  await stopped;
  assert.deepEqual(seen, ['reserved']);
  assert.equal((await readTask(fixture.db, task.id)).phase, 'submitting');
  assert.equal((await readTask(fixture.db, second.task.id)).lease, 0);
  await startWorker(t, fixture, { run: (taken) => advance(fixture, taken) });
  for (const { id } of [task, second.task]) await untilIn(fixture, id, 'generating');
});

test('a worker that stops waits at most the given seconds for a step that does not end', async (t) => {
  const fixture = await openTaskFixture();
  const entered = Promise.withResolvers<void>();
  const never = Promise.withResolvers<StepResult>();
  const worker = await startWorker(t, fixture, {
    run: () => {
      entered.resolve();
      return never.promise;
    },
  });
  await makeTask(fixture);
  await entered.promise;
  await worker.stopClaiming();
  await worker.stop(0.05);
  never.resolve('postponed');
});

test('the lease of a long step is renewed, so no other worker leases the task', async (t) => {
  const fixture = await openTaskFixture();
  const goAhead = Promise.withResolvers<void>();
  let steps = 0;
  const run = async (task: Task) => {
    steps += 1;
    await goAhead.promise;
    return postpone(fixture.db, task, { seconds: 3600 });
  };
  await startWorker(t, fixture, { run });
  const { task } = await makeTask(fixture);
  const leasedUntil = async () => {
    const text = 'select leased_until as until from tasks where id = $1';
    const [row] = await sql<{ until: Date | null }>(fixture.db, text, [task.id]);
    return row?.until?.getTime() ?? 0;
  };
  const first = await until(leasedUntil, (time) => time > 0);
  await until(leasedUntil, (time) => time > first);
  assert.equal(steps, 1);
  goAhead.resolve();
});

test('a worker reports its providers while it runs', async (t) => {
  const fixture = await openTaskFixture();
  const worker = await startWorker(t, fixture, {});
  const reported = () => sql(fixture.db, 'select providers, ingest_places from workers');
  const [row] = await until(reported, (rows) => rows.length === 1);
  assert.deepEqual(row, { providers: ['scripted'], ingest_places: 32 });
  await worker.stopClaiming();
  assert.deepEqual(await reported(), []);
});

test('only as many polls are claimed as there are near turns at the provider', async (t) => {
  const fixture = await openTaskFixture();
  for (let i = 0; i < 5; i += 1) await makeTask(fixture);
  await sql(fixture.db, `update tasks set phase = 'generating'`);
  let polls = 0;
  const run = (task: Task) => {
    polls += 1;
    return postpone(fixture.db, task, { seconds: 3600 });
  };
  const turns = [0, 0, 2];
  let asked = 0;
  const nearReads = async () => {
    asked += 1;
    return turns.shift() ?? 0;
  };
  await startWorker(t, fixture, { run }, { nearReads });
  await until(async () => asked > 5);
  assert.equal(polls, 2);
});
