import assert from 'node:assert/strict';
import { test } from 'node:test';
import { truncate } from './outcomes.ts';

const BOAT = '\u{26F5}\u{1F6F6}';

test('text is cut to a length and is well formed, also if a surrogate pair is cut', () => {
  assert.equal(truncate('a boat'), 'a boat');
  assert.equal(truncate('x'.repeat(2000)).length, 1000);
  assert.equal(truncate('x'.repeat(998) + BOAT), `${'x'.repeat(998)}\u{26F5}\uFFFD`);
  assert.equal(truncate('\udc00 a boat'), '\uFFFD a boat');
});
