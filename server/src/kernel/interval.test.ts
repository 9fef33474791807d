import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilTick } from './interval.ts';

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
