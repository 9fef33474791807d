import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { startInterval } from './interval.ts';

test('a run that is asked for begins at once, or right after the run under way', async () => {
  const stop = new AbortController();
  const runs: Array<() => void> = [];
  const begun = (count: number) => until(async () => runs.length === count);
  const options = { name: 'a test', log: quiet, signal: stop.signal };
  const runNow = startInterval(3600, options, () => new Promise<void>((end) => runs.push(end)));
  await begun(1);
  runNow();
  await new Promise(setImmediate);
  assert.equal(runs.length, 1, 'the first run has not ended');
  runs[0]?.();
  await begun(2);
  runs[1]?.();
  await new Promise(setImmediate);
  runNow();
  await begun(3);
  stop.abort();
  runs[2]?.();
});
