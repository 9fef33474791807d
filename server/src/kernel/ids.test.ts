import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { newId, randomBase62, toBase62 } from './ids.ts';

test('an id begins with the prefix of its kind, and no two ids are equal', () => {
  const prefixes = { account: 'acct_', apiKey: 'key_', task: 'task_', object: 'obj_' } as const;
  for (const kind of ['account', 'apiKey', 'task', 'object'] as const) {
    const ids = Array.from({ length: 500 }, () => newId(kind));
    for (const id of ids) assert.match(id, new RegExp(`^${prefixes[kind]}[0-9A-Za-z]{24}$`));
    assert.equal(new Set(ids).size, 500);
  }
});

test('ids of later times sort later, byte by byte', () => {
  const times = fc.integer({ min: 0, max: 2 ** 43 });
  fc.assert(
    fc.property(times, times, (a, b) => {
      assert.equal(toBase62(a, 8) < toBase62(b, 8), a < b);
    }),
  );
});

test('random text has the given length and favours no character', () => {
  for (const length of [1, 16, 32, 1000]) assert.equal(randomBase62(length).length, length);
  const counts = new Map<string, number>();
  for (const character of randomBase62(62_000)) {
    counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  assert.equal(counts.size, 62);
  // 1000 of each are expected; a difference of 200 is more than six standard deviations.
  for (const [character, count] of counts) {
    assert.ok(Math.abs(count - 1000) < 200, `${character}: ${count}`);
  }
});
