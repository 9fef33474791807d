import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  claimTask,
  makeHeldTask,
  makeTask,
  openTaskFixture,
  PRICE,
} from '../../../test/task-fixtures.ts';
import { VERSION } from '../../kernel/version.ts';
import { reconcile } from '../../operator/reconcile.ts';
import { instrumentedStorage } from '../../storage/open-storage.ts';
import { ObjectMissing } from '../../storage/storage.ts';
import { Superseded } from '../../tasks/transitions.ts';
import { report } from '../../telemetry/reports.ts';
import { instrumentedSteps } from '../../worker/steps.ts';
import { createMetrics } from './metrics.ts';

const fixture = await openTaskFixture();
after(() => fixture.close());

async function scrape(metrics: ReturnType<typeof createMetrics>): Promise<Map<string, number>> {
  const { body } = await metrics.app.inject('/metrics');
  const lines = body.split('\n').filter((line) => line.startsWith('framewright_'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
}

test('the metrics show held tasks, their credits and age, and their outcomes', async () => {
  const { held } = await makeHeldTask(fixture);
  const before = await scrape(createMetrics(fixture.db));
  assert.equal(before.get('framewright_held_tasks{cause="acceptance"}'), 1);
  assert.equal(before.get('framewright_held_tasks{cause="outcome"}'), 0);
  assert.equal(before.get('framewright_held_credits{cause="acceptance"}'), PRICE.credits);
  assert.ok((before.get('framewright_oldest_held_seconds{cause="acceptance"}') ?? 0) > 0);
  assert.equal(before.get('framewright_mismatched_orders{kind="pack"}'), 0);
  await reconcile(fixture.db, held.id, { kind: 'accepted', jobId: 'job-9' }, 'seen');
  const after = await scrape(createMetrics(fixture.db));
  assert.equal(after.get('framewright_held_tasks{cause="acceptance"}'), 0);
  const reconciled = 'framewright_reconciled_attempts{by="operator",result="accepted"}';
  assert.equal(after.get(reconciled), 1);
});

test('the metrics show the version of the process, as /healthz and --version do', async () => {
  const metrics = await scrape(createMetrics(fixture.db));
  assert.equal(metrics.get(`framewright_build_info{version="${VERSION}"}`), 1);
});

test('calls to providers are counted by outcome, and callbacks by result', async () => {
  const metrics = createMetrics(fixture.db);
  const call = { provider: 'ark', call: 'submit', seconds: 0.2, outcome: 'unknown' } as const;
  report('call', call);
  report('call', call);
  metrics.countCallback('ark', 'forged');
  const shown = await scrape(metrics);
  const calls = 'framewright_provider_calls_total{provider="ark",call="submit",outcome="unknown"}';
  assert.equal(shown.get(calls), 2);
  assert.equal(
    shown.get('framewright_provider_call_seconds_count{provider="ark",call="submit"}'),
    2,
  );
  assert.equal(shown.get('framewright_callbacks_total{provider="ark",result="forged"}'), 1);
});

test('due tasks are shown by worker pool until a worker has leased them', async () => {
  const due = async () => (await scrape(createMetrics(fixture.db))).get(NAME) ?? 0;
  const NAME = 'framewright_due_tasks{pool="submit"}';
  const before = await due();
  const { task } = await makeTask(fixture);
  assert.equal(await due(), before + 1);
  await claimTask(fixture.db, task.id);
  assert.equal(await due(), before);
});

test('steps, moves and credits are counted by result', async () => {
  const metrics = createMetrics(fixture.db);
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
    failed: async () => 'postponed',
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

test('operations of the storage are counted by outcome', async () => {
  const metrics = createMetrics(fixture.db);
  const storage = instrumentedStorage({
    put: async () => {},
    open: () => Promise.reject(new ObjectMissing('object_1')),
    sizeOf: async () => undefined,
    delete: () => Promise.reject(new Error('read-only file system')),
  });
  await storage.put('object_1', '/file');
  await assert.rejects(storage.open('object_1'));
  await assert.rejects(storage.delete('object_1'));
  const shown = await scrape(metrics);
  for (const [operation, outcome] of [
    ['put', 'done'],
    ['open', 'missing'],
    ['delete', 'error'],
  ]) {
    const labels = `operation="${operation}",outcome="${outcome}"`;
    assert.equal(shown.get(`framewright_storage_seconds_count{${labels}}`), 1, labels);
  }
  // It is there from the start: otherwise the alert would miss the first file.
  assert.equal(shown.get('framewright_vanished_files_total{role="output"}'), 0);
  await metrics.app.close();
});
