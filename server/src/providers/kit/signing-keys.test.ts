import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSigningKeys, signedRecently } from './signing-keys.ts';

function keysOf(...keySets: string[][]) {
  const clock = { now: 0 };
  let fetches = 0;
  const keys = createSigningKeys({
    fetchKeys: async () => keySets[fetches++] ?? assert.fail('fetched too often'),
    now: () => clock.now,
  });
  const accepts = (key: string) => keys.some((one) => one === key);
  return { clock, accepts, fetches: () => fetches };
}

test('keys are fetched once and kept for a day, not longer', async () => {
  const { clock, accepts, fetches } = keysOf(['a'], ['b']);
  assert.ok(await accepts('a'));
  clock.now = 86_400_000;
  assert.ok(await accepts('a'));
  assert.equal(fetches(), 1);
  clock.now += 1;
  assert.ok(await accepts('b'));
});

test('an unknown key causes a new fetch only if the keys are older than five minutes', async () => {
  const { clock, accepts, fetches } = keysOf(['a'], ['a', 'b'], ['c']);
  assert.ok(await accepts('a'));
  assert.ok(!(await accepts('b')));
  assert.equal(fetches(), 1);
  clock.now = 300_001;
  assert.ok(await accepts('b'));
  for (let forgery = 0; forgery < 10; forgery += 1) assert.ok(!(await accepts('forged')));
  assert.equal(fetches(), 2);
});

test('when the keys can not be fetched the check throws, and the next check fetches again', async () => {
  let fetches = 0;
  const keys = createSigningKeys<string>({
    fetchKeys: async () => {
      fetches += 1;
      if (fetches === 1) throw new Error('unreachable');
      return ['a'];
    },
    now: () => 0,
  });
  await assert.rejects(
    keys.some(() => true),
    /unreachable/,
  );
  assert.ok(await keys.some((key) => key === 'a'));
});

test('a signature is recent within five minutes before or after now', () => {
  const now = 1_800_000_000_000;
  for (const off of [-300, 0, 300]) assert.ok(signedRecently(String(now / 1000 + off), now));
  for (const off of [-301, 301]) assert.ok(!signedRecently(String(now / 1000 + off), now));
  for (const text of ['', 'soon', '1e9', '-1']) assert.ok(!signedRecently(text, now));
});
