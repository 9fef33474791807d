import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClaimRules } from './live-workers.ts';

const OWN = ['ark'];

function rulesAt(clock: { seconds: number }) {
  const monotonic = () => clock.seconds * 1000;
  return createClaimRules({ providers: OWN, ingestSlots: 32, monotonic });
}

test('tasks of a provider that no worker has for a minute are claimed, before their submit only', () => {
  const clock = { seconds: 1000 };
  const rules = rulesAt(clock);
  const report = (unservedProviders: string[]) =>
    rules.update({ ingestSlots: 32, unservedProviders });
  report(['fal']);
  clock.seconds += 59;
  report(['fal']);
  assert.deepEqual(rules.providers('submit'), OWN);
  clock.seconds += 1;
  assert.deepEqual(rules.providers('submit'), ['ark', 'fal']);
  assert.deepEqual(rules.providers('ingest'), ['ark', 'fal']);
  for (const pool of ['poll', 'find', 'archive'] as const)
    assert.deepEqual(rules.providers(pool), OWN);
  report([]); // a worker that has it was started
  assert.deepEqual(rules.providers('submit'), OWN);
  report(['fal']);
  assert.deepEqual(rules.providers('submit'), OWN);
});

test('the limit of an account grows with the slots of all workers', () => {
  const rules = rulesAt({ seconds: 0 });
  assert.equal(rules.accountLimit(), 4);
  rules.update({ ingestSlots: 96, unservedProviders: [] });
  assert.equal(rules.accountLimit(), 12);
  rules.update({ ingestSlots: 0, unservedProviders: [] }); // its own row is not seen
  assert.equal(rules.accountLimit(), 4);
});
