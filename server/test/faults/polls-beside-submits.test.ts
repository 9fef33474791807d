import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Capabilities, HostedProvider, Provider } from '../../src/providers/provider.ts';
import { rateLimited } from '../../src/providers/rate-limiter/rate-limited.ts';
import { postpone } from '../../src/tasks/transitions.ts';
import { generate } from '../../src/worker/generate.ts';
import { startTask } from '../../src/worker/ingest.ts';
import type { Steps } from '../../src/worker/steps.ts';
import { submitTask } from '../../src/worker/submit.ts';
import { createWorker } from '../../src/worker/worker.ts';
import { quiet } from '../database.ts';
import { LONG } from '../long.ts';
import {
  makeTask,
  openTaskFixture,
  scriptedProvider,
  sql,
  submitDeps,
  type TaskFixture,
} from '../task-fixtures.ts';
import { until } from '../until.ts';

/** What Ark's documentation promises to an individual account. */
const BUDGETS: Capabilities['budgets'] = {
  submit: { callsPerSecond: 3 },
  read: { callsPerSecond: 20 },
  find: { callsPerSecond: 1 },
};
/** Jobs in flight, all due to be read at once: far more than can be read in the test's time. */
const JOBS = LONG ? 5000 : 300;
const CREATES = 10;
const CREATE_PAUSE_SECONDS = 0.45;
/** Reads in five seconds. When polls and submits shared their places, 600 jobs made it 300 reads. */
const MAX_READS_BEFORE_SUBMIT = 90;

/** Tasks whose jobs the provider works on; their polls are due. */
async function makeJobs(fixture: TaskFixture, count: number): Promise<void> {
  for (let made = 0; made < count; made += 20) {
    const batch = Math.min(20, count - made);
    await Promise.all(Array.from({ length: batch }, () => makeTask(fixture)));
  }
  await sql(
    fixture.db,
    `insert into attempts (id, task_id, provider, send_before, state, job_id, outcome_at)
     select 'att_' || id, id, provider, clock_now(), 'accepted', 'job-' || id, clock_now()
     from tasks`,
  );
  await sql(fixture.db, `update tasks set phase = 'generating', accepted_at = clock_now()`);
}

/** The steps of the service up to the end of a job. */
function stepsOf(fixture: TaskFixture, provider: Provider): Steps {
  const submit = submitDeps(fixture, provider);
  const polling = { ...submit, pollMinSeconds: 2, pollMaxSeconds: 15 };
  return {
    run(task) {
      if (task.phase === 'submitting') return submitTask(submit, task);
      return task.phase === 'generating'
        ? generate(polling, task)
        : startTask({ db: fixture.db } as Parameters<typeof startTask>[0], task);
    },
    failed: (task) => postpone(fixture.db, task, { seconds: 1, internalFailures: 1 }),
  };
}

async function startWorkers(
  t: TestContext,
  fixture: TaskFixture,
  provider: HostedProvider,
  count: number,
) {
  for (let i = 0; i < count; i += 1) {
    const worker = createWorker({
      db: fixture.db,
      wakeUps: fixture.wakeUps,
      log: quiet,
      steps: stepsOf(fixture, provider),
      providers: new Map([['scripted', provider]]),
    });
    await worker.start();
    t.after(async () => {
      await worker.stopClaiming();
      await worker.stop(10);
    });
  }
}

test('many jobs that wait to be read do not delay the submits of new tasks', async (t) => {
  const fixture = await openTaskFixture();
  t.after(() => fixture.closeAudited());
  let reads = 0;
  const submittedAt: Array<{ reads: number; at: number }> = [];
  const scripted = scriptedProvider({
    async read() {
      reads += 1;
      await delay(100);
      return { kind: 'working' };
    },
    async submit() {
      submittedAt.push({ reads, at: performance.now() });
      return { kind: 'accepted', jobId: crypto.randomUUID() };
    },
  });
  const capabilities = { ...scripted.capabilities, budgets: BUDGETS };
  const quota = { db: fixture.db, name: 'one' };
  const provider = rateLimited({ ...scripted, capabilities }, quota);
  await makeJobs(fixture, JOBS);
  await startWorkers(t, fixture, provider, 2);
  await until(
    async () => reads,
    (count) => count > 20,
  );
  const created: typeof submittedAt = [];
  for (let i = 0; i < CREATES; i += 1) {
    await makeTask(fixture);
    created.push({ reads, at: performance.now() });
    await delay(CREATE_PAUSE_SECONDS * 1000);
  }
  await until(
    async () => submittedAt.length,
    (count) => count === CREATES,
    120,
  );
  const waits = created.map((one, i) => {
    const submitted = submittedAt[i] ?? one;
    return { reads: submitted.reads - one.reads, seconds: (submitted.at - one.at) / 1000 };
  });
  const median = waits.sort((one, other) => one.reads - other.reads)[CREATES / 2];
  assert.ok(median);
  t.diagnostic(
    `${JOBS} jobs in flight: the median submit began ${median.seconds.toFixed(2)} s after its ` +
      `create, ${median.reads} reads later`,
  );
  assert.ok(median.reads <= MAX_READS_BEFORE_SUBMIT, `${median.reads} reads came first`);
});
