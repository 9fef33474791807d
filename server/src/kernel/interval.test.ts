import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quiet } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { startInterval, untilTick } from './interval.ts';

test('intervals of any length end together, at most half a second early and never late', () => {
  for (const seconds of [0.5, 1, 3.3, 5, 60]) {
    for (const now of [0, 3, 499, 500, 1234.5]) {
      const end = now + untilTick(seconds, now);
      assert.equal(end % 500, 0, `${seconds} s from ${now}`);
      assert.ok(end <= now + seconds * 1000 && end > now + seconds * 1000 - 500);
    }
  }
  assert.equal(untilTick(0.2, 1234.5), 200);
});

test('a run that is asked for begins at once, or right after the run under way', async () => {
  const stop = new AbortController();
  const runs: Array<() => void> = [];
  const begun = (count: number) =>
    until(
      async () => runs.length,
      (length) => length === count,
    );
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
