import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batch } from './batch.ts';

/** Batches that end when the test calls `end` or `fail`. */
function controlled(options: {
  maxItems: number;
  concurrency: number;
  maxWaiting?: number;
  isPipelined?: boolean;
  oneLanePerBatch?: boolean;
  laneOf?: (item: string) => string;
}) {
  const batches: Array<{ items: string[]; end: () => void; fail: (error: Error) => void }> = [];
  const call = batch({
    maxWaiting: 99,
    ...options,
    tooMany: () => new Error('too many calls wait'),
    keyOf: (item: string) => item,
    work: (items) =>
      new Promise<string[]>((resolve, reject) => {
        batches.push({ items, end: () => resolve(items.map((i) => `${i}!`)), fail: reject });
      }),
  });
  const tick = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  return { call, batches, items: () => batches.map((one) => one.items), tick };
}

test('calls of one key never share a batch, and keep their order', async () => {
  const { call, batches, tick } = controlled({ maxItems: 9, concurrency: 1 });
  const results = Promise.all(['a', 'a', 'b', 'a'].map(call));
  for (const expected of [['a', 'b'], ['a'], ['a']]) {
    await tick();
    assert.deepEqual(batches.at(-1)?.items, expected);
    batches.at(-1)?.end();
  }
  assert.deepEqual(await results, ['a!', 'a!', 'b!', 'a!']);
});

const laneOf = (item: string) => item.slice(0, 1);

test('calls of one lane are never in two batches at a time', async () => {
  const { call, batches, items, tick } = controlled({ maxItems: 9, concurrency: 2, laneOf });
  const first = Promise.all(['a1', 'a2', 'b1'].map(call));
  await tick();
  const second = Promise.all(['a3', 'c1'].map(call));
  await tick();
  assert.deepEqual(items(), [['a1', 'a2', 'b1'], ['c1']]);
  for (const { end } of batches) end();
  await first;
  await tick();
  assert.deepEqual(batches[2]?.items, ['a3']);
  batches[2]?.end();
  await second;
});

test('a batch of one lane leaves the calls of other lanes to other batches', async () => {
  const options = { maxItems: 2, concurrency: 2, laneOf, oneLanePerBatch: true };
  const { call, batches, items, tick } = controlled(options);
  const results = Promise.all(['a1', 'b1', 'a2', 'a3', 'b2', 'c1'].map(call));
  await tick();
  await tick();
  assert.deepEqual(items(), [
    ['a1', 'a2'],
    ['b1', 'b2'],
  ]);
  batches[1]?.end();
  await tick();
  assert.deepEqual(batches[2]?.items, ['c1'], 'lane a is busy');
  batches[0]?.end();
  await tick();
  assert.deepEqual(batches[3]?.items, ['a3']);
  batches[2]?.end();
  batches[3]?.end();
  await results;
});

test('no more batches run at a time than allowed, and no batch is larger than allowed', async () => {
  const { call, batches, items, tick } = controlled({ maxItems: 2, concurrency: 2 });
  const results = Promise.all(['a', 'b', 'c', 'd', 'e'].map(call));
  await tick();
  await tick();
  assert.deepEqual(items(), [
    ['a', 'b'],
    ['c', 'd'],
  ]);
  batches[0]?.end();
  await tick();
  assert.deepEqual(batches.at(-1)?.items, ['e']);
  for (const one of batches) one.end();
  await results;
});

test('many calls are divided into halves, few calls are not', async () => {
  const { call, batches, tick } = controlled({ maxItems: 64, concurrency: 2, isPipelined: true });
  const sizes = async (calls: number): Promise<number[]> => {
    const first = batches.length;
    const results = Promise.all(Array.from({ length: calls }, (_, i) => call(`${i}`)));
    await tick();
    await tick();
    const begun = batches.slice(first);
    for (const { end } of begun) end();
    await results;
    return begun.map(({ items }) => items.length);
  };
  assert.deepEqual(await sizes(40), [20, 20]);
  assert.deepEqual(await sizes(20), [16, 4]);
  assert.deepEqual(await sizes(16), [16]);
});

test('a failed batch fails only its own calls, and the next batch runs', async () => {
  const { call, batches, tick } = controlled({ maxItems: 1, concurrency: 1 });
  const [lost, found] = [call('a'), call('b')];
  await tick();
  batches[0]?.fail(new Error('gone'));
  await assert.rejects(lost, /gone/);
  await tick();
  batches[1]?.end();
  assert.equal(await found, 'b!');
});

test('a call is refused at once when too many calls wait', async () => {
  const { call, batches, tick } = controlled({ maxItems: 1, concurrency: 1, maxWaiting: 2 });
  const first = call('a');
  await tick();
  const waiting = [call('b'), call('c')];
  await assert.rejects(call('d'), /too many calls wait/);
  for (let n = 0; n < 3; n += 1) {
    batches[n]?.end();
    await tick();
  }
  assert.deepEqual(await Promise.all([first, ...waiting]), ['a!', 'b!', 'c!']);
});
