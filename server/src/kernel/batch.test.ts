import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batch } from './batch.ts';

/** A batch whose turns end when the test says so. */
function controlled(options: { most: number; turns: number }) {
  const turns: Array<{ items: string[]; end: () => void; fail: (error: Error) => void }> = [];
  const ask = batch({
    ...options,
    keyOf: (item: string) => item,
    work: (items) =>
      new Promise<string[]>((resolve, reject) => {
        turns.push({ items, end: () => resolve(items.map((i) => `${i}!`)), fail: reject });
      }),
  });
  const tick = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  return { ask, turns, tick };
}

test('calls of one tick share a turn, and each gets its own result', async () => {
  const { ask, turns, tick } = controlled({ most: 9, turns: 1 });
  const results = Promise.all(['a', 'b', 'c'].map(ask));
  await tick();
  assert.deepEqual(
    turns.map(({ items }) => items),
    [['a', 'b', 'c']],
  );
  turns[0]?.end();
  assert.deepEqual(await results, ['a!', 'b!', 'c!']);
});

test('calls of one key never share a turn, and keep their order', async () => {
  const { ask, turns, tick } = controlled({ most: 9, turns: 1 });
  const results = Promise.all(['a', 'a', 'b', 'a'].map(ask));
  for (const expected of [['a', 'b'], ['a'], ['a']]) {
    await tick();
    assert.deepEqual(turns.at(-1)?.items, expected);
    turns.at(-1)?.end();
  }
  assert.deepEqual(await results, ['a!', 'a!', 'b!', 'a!']);
});

test('no more turns are under way than allowed, and no turn is larger than allowed', async () => {
  const { ask, turns, tick } = controlled({ most: 2, turns: 2 });
  const results = Promise.all(['a', 'b', 'c', 'd', 'e'].map(ask));
  await tick();
  await tick();
  assert.deepEqual(
    turns.map(({ items }) => items),
    [
      ['a', 'b'],
      ['c', 'd'],
    ],
  );
  turns[0]?.end();
  await tick();
  assert.deepEqual(turns.at(-1)?.items, ['e']);
  for (const turn of turns) turn.end();
  await results;
});

test('a failed turn fails its calls alone, and the next goes on', async () => {
  const { ask, turns, tick } = controlled({ most: 1, turns: 1 });
  const [lost, found] = [ask('a'), ask('b')];
  await tick();
  turns[0]?.fail(new Error('gone'));
  await assert.rejects(lost, /gone/);
  await tick();
  turns[1]?.end();
  assert.equal(await found, 'b!');
});
