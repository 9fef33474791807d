import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLookupTurns, type LookupLimits } from './lookup-turns.ts';

/** Starts look-ups that end only when the test ends them, and records the order of their starts. */
function rig(limits: Partial<LookupLimits>) {
  const turns = createLookupTurns({ overall: 100, perAccount: 100, perRequest: 100, ...limits });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    started,
    async lookUp(name: string, signal = new AbortController().signal) {
      const [account = '', request = ''] = name.split(' ');
      const client = name === 'provider' ? undefined : { accountId: account, taskId: request };
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      const outcome = turns.run(client, signal, () => {
        started.push(name);
        return promise;
      });
      outcome.catch(() => {});
      await settle();
      return { outcome };
    },
    async end(name: string) {
      ends.get(name)?.();
      await settle();
    },
  };
}

test('a request and an account wait at their limits, and do not delay others', async () => {
  const { started, lookUp, end } = rig({ perAccount: 3, perRequest: 2 });
  for (const file of ['1', '2', '3']) await lookUp(`ada task1 ${file}`);
  for (const file of ['1', '2']) await lookUp(`ada task2 ${file}`);
  await lookUp('bob task3 1');
  assert.deepEqual(started, ['ada task1 1', 'ada task1 2', 'ada task2 1', 'bob task3 1']);
  await end('ada task2 1');
  assert.deepEqual(started.slice(4), ['ada task2 2'], 'task1 is at the limit of a request');
  await end('ada task1 1');
  assert.deepEqual(started.slice(5), ['ada task1 3']);
});

test('at the overall limit the account with the fewest look-ups is next', async () => {
  const { started, lookUp, end } = rig({ overall: 3 });
  for (const file of ['1', '2', '3', '4', '5']) await lookUp(`ada task1 ${file}`);
  await lookUp('bob task2 1');
  await lookUp('provider');
  await end('ada task1 1');
  await end('ada task1 2');
  await end('ada task1 3');
  assert.deepEqual(started.slice(3), ['bob task2 1', 'provider', 'ada task1 4']);
});

test('a look-up that is aborted while it waits never starts and takes no turn', async () => {
  const { started, lookUp, end } = rig({ overall: 1 });
  await lookUp('ada task1 1');
  const stop = new AbortController();
  const { outcome } = await lookUp('ada task1 2', stop.signal);
  await lookUp('ada task1 3');
  stop.abort(new Error('enough'));
  await assert.rejects(outcome, new Error('enough'));
  await end('ada task1 1');
  assert.deepEqual(started, ['ada task1 1', 'ada task1 3']);
});

test('a look-up that fails gives its turn back', async () => {
  const turns = createLookupTurns({ overall: 1, perAccount: 1, perRequest: 1 });
  const { signal } = new AbortController();
  const client = { accountId: 'ada', taskId: 'task1' };
  const fail = () => Promise.reject(new Error('no such name'));
  await assert.rejects(turns.run(client, signal, fail), /no such name/);
  assert.equal(await turns.run(client, signal, async () => 'found'), 'found');
});
