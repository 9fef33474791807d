import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOneLineAbout } from '../../test/providers/settings.ts';
import { recordingLog } from '../../test/recording-log.ts';
import { makeTask, openTaskFixture } from '../../test/task-fixtures.ts';
import {
  checkUnserved,
  createClaimRules,
  reportAlive,
  reportGone,
  unservedTasks,
} from './live-workers.ts';

const OWN = ['ark'];

function rulesAt(clock: { seconds: number }) {
  const monotonic = () => clock.seconds * 1000;
  return createClaimRules({ providers: OWN, ingestSlots: 32, monotonic });
}

test('tasks whose provider has had no worker for a minute are claimed, but only before their submit', () => {
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
  report([]); // a worker with this provider was started
  assert.deepEqual(rules.providers('submit'), OWN);
  report(['fal']);
  assert.deepEqual(rules.providers('submit'), OWN);
});

test('the limit of an account grows with the slots of all workers', () => {
  const rules = rulesAt({ seconds: 0 });
  assert.equal(rules.accountLimit(), 4);
  rules.update({ ingestSlots: 96, unservedProviders: [] });
  assert.equal(rules.accountLimit(), 12);
  rules.update({ ingestSlots: 0, unservedProviders: [] }); // its own report is not seen
  assert.equal(rules.accountLimit(), 4);
});

test('a warning names each provider of live tasks that no running worker has, and what to set', async () => {
  const fixture = await openTaskFixture();
  const { db } = fixture;
  for (const providerName of ['fal', 'fal', 'replicate', 'local']) {
    await makeTask(fixture, { providerName });
  }
  const other = { id: 'other', providers: ['local', 'replicate'], ingestSlots: 8 };
  const fleet = await reportAlive(db, other);
  assert.deepEqual(fleet, { ingestSlots: 8, unservedProviders: ['fal'] });
  const [ofFal, ...rest] = await unservedTasks(db, []);
  assert.deepEqual([ofFal?.provider, ofFal?.tasks, rest], ['fal', 2, []]);
  const { log, lines } = recordingLog();
  const configured = new Map([['local', {}]]);
  await checkUnserved(configured, { db, log });
  const [line] = lines.map((text) => JSON.parse(text));
  assert.equal(lines.length, 1);
  assert.deepEqual([line.provider, line.tasks], ['fal', 2]);
  assert.match(line.msg, /set FAL_API_KEY/);
  const { task } = await makeTask(fixture, { providerName: 'fal-2' });
  const live = isOneLineAbout('fal-2 has 1 live tasks', task.id);
  await assert.rejects(checkUnserved(configured, { db, log }), live);
  await reportGone(db, 'other');
  const unserved = (await unservedTasks(db, [])).map(({ provider }) => provider);
  assert.deepEqual(unserved, ['fal', 'fal-2', 'local', 'replicate']);
});
