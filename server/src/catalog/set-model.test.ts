import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, quiet } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { until } from '../../test/until.ts';
import { Refusal, UsageError } from '../kernel/errors.ts';
import { modelNamed } from './catalog.ts';
import { type ModelWish, retireModel, setModel } from './set-model.ts';
import { followCatalog, readCatalog } from './stored-models.ts';

const { db } = await openTestDatabase();

let named = 0;
function newName(): string {
  named += 1;
  return `model-${named}`;
}

const set = (name: string, wish: ModelWish, source: 'operator' | 'file' = 'operator') =>
  db.transaction((tx) => setModel(tx, { name, source, wish }));

const read = async (name: string) => modelNamed(await readCatalog(db), name) ?? assert.fail(name);

const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000);

test('a new model has all that the contract allows, and a change leaves the rest as it is', async () => {
  const name = newName();
  assert.deepEqual(await set(name, { price: { '480p': 7 } }), { changed: true, dropped: {} });
  const first = await read(name);
  assert.deepEqual(
    [first.title, first.modes.length, first.durations.length, first.aspectRatios.length],
    [name, 3, 12, 7],
  );
  const { state, source, audio, seed } = first;
  assert.deepEqual([state, source, audio, seed], ['offered', 'operator', true, true]);
  const change = { title: 'Nova', durations: [10, 5], sound: false, state: 'hidden' } as const;
  assert.equal((await set(name, change)).changed, true);
  assert.deepEqual(await read(name), {
    ...first,
    title: 'Nova',
    durations: [5, 10],
    audio: false,
    state: 'hidden',
  });
  assert.equal((await set(name, { ...change, price: { '480p': 7 } })).changed, false);
});

test('a model is reduced to what the contract allows, and all that is dropped is named', async () => {
  const name = newName();
  const { dropped } = await set(name, {
    modes: ['text-to-video', 'video-to-video'],
    durations: [3, 8, 20],
    aspect_ratios: ['16:9', '2:3', 'adaptive'],
    price: { '720p': 9, '8k': 900 },
  });
  assert.deepEqual(dropped, {
    modes: ['video-to-video'],
    durations: [3, 20],
    aspect_ratios: ['2:3', 'adaptive'],
    price: ['8k'],
  });
  const { modes, durations, aspectRatios, prices } = await read(name);
  assert.deepEqual([modes, durations, aspectRatios], [['text-to-video'], [8], ['16:9']]);
  assert.deepEqual(prices[0].standard, { '720p': 9 });
});

test('a changed price is added, at least five minutes ahead, and earlier versions stay', async () => {
  const name = newName();
  await set(name, { price: { '480p': 7 } });
  for (const from of [undefined, new Date(), inMinutes(4.9)]) {
    await assert.rejects(set(name, { price: { '480p': 8 }, from }), /from must be at least 5 min/);
  }
  const from = inMinutes(6);
  const wish = {
    price: { '720p': 16, '480p': 8 },
    reference_price: { '480p': 3, '720p': 6 },
    from,
  };
  assert.equal((await set(name, wish)).changed, true);
  assert.equal((await set(name, wish)).changed, false);
  assert.equal((await set(name, { ...wish, price: { '480p': 9, '720p': 16 } })).changed, true);
  const { prices } = await read(name);
  const versions = prices.map(({ version }) => version);
  assert.ok(versions[0] && versions[0] > 1);
  assert.deepEqual(
    versions,
    [0, 1, 2].map((n) => Number(versions[0]) + n),
  );
  assert.deepEqual(
    prices.map(({ standard }) => standard),
    [{ '480p': 7 }, { '480p': 8, '720p': 16 }, { '480p': 9, '720p': 16 }],
  );
  assert.equal((await set(name, { price: { '480p': 7 } })).changed, false, 'the price of now');
});

test('an invalid model is refused, and its wrong field is named', async () => {
  const price = { '480p': 7 };
  for (const [wish, field] of [
    [{}, 'price'],
    [{ price: { '480p': 0 } }, 'price'],
    [{ price: { '480p': 1.5 } }, 'price'],
    [{ price: { '480p': 2_000_000 } }, 'price'],
    [{ price: { '8k': 5 } }, 'price'],
    [{ price: {} }, 'price'],
    [{ price, reference_price: { '720p': 5 } }, 'reference_price'],
    [{ price, modes: [] }, 'modes'],
    [{ price, durations: [3, 16] }, 'durations'],
    [{ price, aspect_ratios: ['adaptive', '2:3'] }, 'aspect_ratios'],
    [{ price, from: inMinutes(9) }, 'from'],
  ] as [ModelWish, string][]) {
    await assert.rejects(set(newName(), wish), (error) => {
      assert.ok(error instanceof Refusal);
      return error.field === field || assert.fail(`${error.field} instead of ${field}`);
    });
  }
  assert.deepEqual(await sql(db, `select name from models where name = 'model-${named}'`), []);
});

test('the built-in models can not be changed', async () => {
  for (const name of ['video-2.0', 'video-2.0-mini']) {
    await assert.rejects(set(name, { title: 'Mine' }, 'file'), UsageError);
    await assert.rejects(
      db.transaction((tx) => retireModel(tx, name)),
      UsageError,
    );
  }
  const retiring = db.transaction((tx) => retireModel(tx, 'none'));
  await assert.rejects(retiring, /there is no model "none"/);
});

test('all processes know a change within seconds, and keep the catalog of a request that began', async (t) => {
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  const follow = () => followCatalog({ db, log: quiet, signal: stopping.signal });
  const processes = [await follow(), await follow()];
  const name = newName();
  const before = processes.map((one) => one.current());
  await set(name, { price: { '480p': 7 } });
  const known = () => processes.map((one) => modelNamed(one.current(), name)?.state);
  const all = (state: string) => until(async () => known().every((one) => one === state));
  await all('offered');
  assert.equal(await db.transaction((tx) => retireModel(tx, name)), true);
  assert.equal(await db.transaction((tx) => retireModel(tx, name)), false);
  await all('retired');
  const models = before.map((one) => modelNamed(one, name));
  assert.deepEqual(models, [undefined, undefined]);
});
