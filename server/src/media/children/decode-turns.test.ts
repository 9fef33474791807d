import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createDecodeTurns } from './decode-turns.ts';

/** Decodes that end when the test says so, with the clock of the test. */
function rig(t: TestContext, concurrency: number) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const turns = createDecodeTurns(concurrency);
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const decoded: string[] = [];
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const decode = (file: string, signal?: AbortSignal) =>
    turns.run({ accountId: file.slice(0, 1), signal }, (turnSignal) => {
      log.push(file);
      return new Promise((resolve) => {
        ends.set(file, () => resolve('decoded'));
        turnSignal.addEventListener('abort', () => resolve('aborted'));
      });
    });
  return {
    log,
    decoded,
    decode,
    async start(...files: string[]) {
      for (const file of files) void decode(file).then(() => decoded.push(file));
      await settled();
    },
    async end(file: string) {
      ends.get(file)?.();
      await settled();
    },
    async pass(seconds: number) {
      t.mock.timers.tick(seconds * 1000);
      await settled();
    },
  };
}

test('a file of another account is decoded next, whatever one account queues', async (t) => {
  const { start, end, log } = rig(t, 1);
  await start('a1', 'a2', 'a3', 'b1');
  await end('a1');
  await end('a2');
  assert.deepEqual(log, ['a1', 'a2', 'b1']);
});

test('a long decode frees its slot for a short one and goes on', async (t) => {
  const { start, end, pass, log, decoded } = rig(t, 1);
  await start('a1', 'b1');
  assert.deepEqual(log, ['a1']);
  await pass(1);
  assert.deepEqual(log, ['a1', 'b1']);
  await end('a1');
  assert.ok(decoded.includes('a1'));
});

test('a long decode without a slot is interrupted for another account, and runs again', async (t) => {
  const { start, end, pass, log, decoded } = rig(t, 1);
  await start('a1');
  await pass(1); // a1 has the only slot for long decodes now
  await start('a2', 'b1');
  await pass(1);
  assert.deepEqual(log, ['a1', 'a2', 'b1']);
  await end('a1');
  assert.deepEqual(log, ['a1', 'a2', 'b1', 'a2'], 'it runs again after a1');
  await end('a2');
  assert.ok(decoded.includes('a2'));
});

test('a long decode without a slot goes on while no other account waits', async (t) => {
  const { start, end, pass, log, decoded } = rig(t, 1);
  await start('a1');
  await pass(1);
  await start('a2', 'a3');
  await pass(10);
  assert.deepEqual(log, ['a1', 'a2']);
  await end('a2');
  assert.ok(decoded.includes('a2'));
  assert.deepEqual(log, ['a1', 'a2', 'a3']);
});

test('one account never has all slots for long decodes', async (t) => {
  const { start, end, pass, log, decoded } = rig(t, 2);
  await start('a1', 'a2');
  await pass(1);
  await start('b1', 'c1', 'c2');
  await pass(1);
  assert.deepEqual(log, ['a1', 'a2', 'b1', 'c1', 'c2'], 'a2 was interrupted');
  await end('b1');
  assert.ok(decoded.includes('b1'), 'b1 had the second slot for long decodes');
});

test('an abort ends a decode that waits for its second run', async (t) => {
  const { start, decode, pass } = rig(t, 1);
  await start('a1');
  await pass(1);
  const leaving = new AbortController();
  const second = decode('a2', leaving.signal);
  await start('b1');
  await pass(1);
  leaving.abort(new Error('no longer wanted'));
  await assert.rejects(second, /no longer wanted/);
});
