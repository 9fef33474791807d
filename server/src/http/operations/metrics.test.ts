import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  makeHeldTask,
  openTaskFixture,
  PRICE,
  type TaskFixture,
} from '../../../test/task-fixtures.ts';
import { reconcile } from '../../operator/reconcile.ts';
import { createMetrics } from './metrics.ts';

let fixture: TaskFixture;
before(async () => {
  fixture = await openTaskFixture();
});
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
  await reconcile(fixture.db, held.id, { kind: 'accepted', jobId: 'job-9' }, 'seen');
  const after = await scrape(createMetrics(fixture.db));
  assert.equal(after.get('framewright_held_tasks{cause="acceptance"}'), 0);
  const reconciled = 'framewright_reconciled_attempts{by="operator",result="accepted"}';
  assert.equal(after.get(reconciled), 1);
});

test('calls of providers are counted by outcome, and callbacks by result', async () => {
  const metrics = createMetrics(fixture.db);
  const call = { provider: 'ark', call: 'submit', seconds: 0.2, outcome: 'unknown' } as const;
  metrics.countProviderCall(call);
  metrics.countProviderCall(call);
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
