import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobSpecOf } from '../../../test/providers/comfyui-rig.ts';
import {
  claimTask,
  makeHeldTask,
  makeTask,
  openTaskFixture,
  PRICE,
  scriptedProvider,
} from '../../../test/task-fixtures.ts';
import { reconcile } from '../../operator/reconcile.ts';
import { instrumented } from '../../providers/instrumented.ts';
import { OutputGone } from '../../providers/provider.ts';
import { Superseded } from '../../tasks/transitions.ts';
import { instrumentedSteps } from '../../worker/steps.ts';
import { createMetrics } from './metrics.ts';

const fixture = await openTaskFixture();
const { db } = fixture;

async function scrape(metrics: ReturnType<typeof createMetrics>): Promise<Map<string, number>> {
  const { body } = await metrics.app.inject('/metrics');
  const lines = body.split('\n').filter((line) => line.startsWith('framewright_'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
}

test('the metrics show held tasks, their credits and age, and their outcomes', async () => {
  const { held } = await makeHeldTask(fixture);
  const before = await scrape(createMetrics(db));
  assert.equal(before.get('framewright_held_tasks{cause="acceptance"}'), 1);
  assert.equal(before.get('framewright_held_tasks{cause="outcome"}'), 0);
  assert.equal(before.get('framewright_held_credits{cause="acceptance"}'), PRICE.credits);
  assert.ok((before.get('framewright_oldest_held_seconds{cause="acceptance"}') ?? 0) > 0);
  assert.equal(before.get('framewright_mismatched_orders{kind="pack"}'), 0);
  await reconcile(db, held.id, { kind: 'accepted', jobId: 'job-9' }, 'seen');
  const after = await scrape(createMetrics(db));
  assert.equal(after.get('framewright_held_tasks{cause="acceptance"}'), 0);
  const reconciled = 'framewright_reconciled_attempts{by="operator",result="accepted"}';
  assert.equal(after.get(reconciled), 1);
});

test('calls to providers are counted by outcome, and callbacks by result', async () => {
  const metrics = createMetrics(db);
  const failure = new Error('no response');
  const provider = instrumented(
    scriptedProvider({
      submit: async () => ({ kind: 'rejected', fault: 'busy', cause: '429' }),
      read: () => Promise.reject(failure),
      openOutput: () => Promise.reject(new OutputGone('expired')),
    }),
  );
  for (const spec of [jobSpecOf(), jobSpecOf()]) await provider.submit(spec, () => true);
  await assert.rejects(provider.read('job'), failure);
  await assert.rejects(provider.openOutput({}), OutputGone);
  metrics.countCallback('ark', 'forged');
  const shown = await scrape(metrics);
  const calls = (call: string, outcome: string) =>
    shown.get(
      `framewright_provider_calls_total{provider="scripted",call="${call}",outcome="${outcome}"}`,
    );
  assert.equal(calls('submit', 'rejected_busy'), 2);
  assert.equal(calls('read', 'error'), 1);
  assert.equal(calls('open_output', 'gone'), 1);
  assert.equal(shown.get('framewright_callbacks_total{provider="ark",result="forged"}'), 1);
});

test('due tasks are shown by worker pool until a worker has leased them', async () => {
  const due = async () => (await scrape(createMetrics(db))).get(NAME) ?? 0;
  const NAME = 'framewright_due_tasks{pool="submit"}';
  const before = await due();
  const { task } = await makeTask(fixture);
  assert.equal(await due(), before + 1);
  await claimTask(db, task.id);
  assert.equal(await due(), before);
});

test('steps, moves and credits are counted by result', async () => {
  const metrics = createMetrics(db);
  const { task } = await makeTask(fixture);
  const seconds = (from: number) => new Date(task.created_at.getTime() + from * 1000);
  const moves = [
    { ...task, provider: 'next' }, // to another connection, within the phase
    { ...task, phase: 'submitting', updated_at: seconds(2) } as const,
    { ...task, phase: 'failed', updated_at: seconds(5) } as const,
    'postponed' as const,
  ];
  const steps = instrumentedSteps({
    run: async () => moves.shift() ?? Promise.reject(new Superseded('late')),
    handleFailure: async () => 'postponed',
  });
  for (let step = 0; step < 4; step += 1) await steps.run(task);
  await assert.rejects(steps.run(task), Superseded);
  const shown = await scrape(metrics);
  const counted = (labels: string) => shown.get(`framewright_step_seconds_count{${labels}}`);
  assert.equal(counted('phase="reserved",result="moved"'), 3);
  assert.equal(counted('phase="reserved",result="postponed"'), 1);
  assert.equal(counted('phase="reserved",result="superseded"'), 1);
  assert.equal(shown.get('framewright_phase_seconds_sum{phase="reserved"}'), 7);
  assert.equal(shown.get('framewright_phase_seconds_count{phase="reserved"}'), 2);
  assert.equal(shown.get('framewright_task_seconds_sum{outcome="failed"}'), 5);
  assert.equal(shown.get('framewright_moved_credits_total{movement="refund"}'), PRICE.credits);
  await metrics.app.close();
});
