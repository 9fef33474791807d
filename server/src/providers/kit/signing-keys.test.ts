import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallbackReader } from './signing-keys.ts';

const BEGIN_MS = 1_800_000_000_000;

/** Reads callbacks that are signed with a key's name, with these keys at each fetch. */
function readerOf(...fetched: (string[] | Error)[]) {
  const clock = { now: BEGIN_MS };
  let fetches = 0;
  const read = createCallbackReader<string>({
    fetchKeys: async () => {
      const keys = fetched[fetches++] ?? assert.fail('fetched too often');
      if (keys instanceof Error) throw keys;
      return keys;
    },
    now: () => clock.now,
    signatureIn: ({ headers: { by, at = '' } }) => ({ timestamp: at, isBy: (key) => key === by }),
    idField: 'id',
  });
  const accepts = async (by: string, at = String(Math.floor(clock.now / 1000))) =>
    (await read({ body: Buffer.from('{}'), headers: { by, at } })).kind === 'report';
  return { clock, accepts, fetches: () => fetches };
}

test('keys are fetched once and kept for a day, not longer', async () => {
  const { clock, accepts, fetches } = readerOf(['a'], ['b']);
  assert.ok(await accepts('a'));
  clock.now += 86_400_000;
  assert.ok(await accepts('a'));
  assert.equal(fetches(), 1);
  clock.now += 1;
  assert.ok(await accepts('b'));
});

test('an unknown key causes a new fetch only if the keys are older than five minutes', async () => {
  const { clock, accepts, fetches } = readerOf(['a'], ['a', 'b'], ['c']);
  assert.ok(await accepts('a'));
  assert.ok(!(await accepts('b')));
  assert.equal(fetches(), 1);
  clock.now += 300_001;
  assert.ok(await accepts('b'));
  for (let forgery = 0; forgery < 10; forgery += 1) assert.ok(!(await accepts('forged')));
  assert.equal(fetches(), 2);
});

test('when the keys can not be fetched the check throws, and the next check fetches again', async () => {
  const { accepts } = readerOf(new Error('unreachable'), ['a']);
  await assert.rejects(accepts('a'), /unreachable/);
  assert.ok(await accepts('a'));
});

test('a signature is recent within five minutes before or after now', async () => {
  const { accepts } = readerOf(['a']);
  for (const off of [-300, 0, 300]) assert.ok(await accepts('a', String(BEGIN_MS / 1000 + off)));
  for (const off of [-301, 301]) assert.ok(!(await accepts('a', String(BEGIN_MS / 1000 + off))));
  for (const text of ['', 'soon', '1e9', '-1']) assert.ok(!(await accepts('a', text)));
});
