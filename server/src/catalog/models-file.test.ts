import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../test/database.ts';
import { isOneLineAbout } from '../../test/providers/settings.ts';
import { recordingLog } from '../../test/recording-log.ts';
import { modelNamed } from './catalog.ts';
import { parseModelsFile, useModelsFile } from './models-file.ts';
import { setModel } from './set-model.ts';
import { readCatalog } from './stored-models.ts';

const NOVA = { name: 'nova-1', price: { '480p': 7 } };

test('files that say the same have the same digest', () => {
  const digestOf = (text: string) => parseModelsFile(text).digest;
  assert.equal(digestOf(JSON.stringify([NOVA])), digestOf(JSON.stringify([NOVA], null, 2)));
  assert.notEqual(digestOf('[]'), digestOf(JSON.stringify([NOVA])));
});

test('a mistake in a file is one line that names its place and what is expected', () => {
  for (const [content, said] of [
    ['[{"name": "nova-1",}]', /^not JSON: .*position 19/],
    [{ models: [] }, /^the file must be array/],
    [[{ ...NOVA, name: 'Nova 1' }], /^\/0\/name must match pattern/],
    [[NOVA, { ...NOVA, colour: 'red' }], /^\/1\/colour is not known$/],
    [[{ ...NOVA, durations: ['5'] }], /^\/0\/durations\/0 must be integer/],
    [[{ ...NOVA, from: 'soon' }], /^\/0\/from must be a time/],
    [[NOVA, NOVA], /^nova-1 is in the file twice/],
  ] as const) {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    assert.throws(() => parseModelsFile(text), isOneLineAbout(said));
  }
});

test('processes share one file; a model that it no longer names becomes the operator’s', async (t) => {
  const { db, close } = await createTestDatabase();
  const stops: (() => Promise<void>)[] = [close];
  t.after(async () => {
    for (const stop of stops.reverse()) await stop();
  });
  const { log, lines } = recordingLog();
  const start = async (...models: object[]) => {
    const stop = await useModelsFile(parseModelsFile(JSON.stringify(models)), { db, log });
    stops.push(stop);
    return stop;
  };
  const sourceOf = async (name: string) => modelNamed(await readCatalog(db), name)?.source;
  const set = (title: string) =>
    db.transaction((tx) => setModel(tx, { name: 'nova-1', source: 'operator', wish: { title } }));
  const first = await start({ ...NOVA, durations: [5, 20] });
  const second = await start({ ...NOVA, durations: [5, 20] });
  assert.match(lines.join(), /"model":"nova-1","dropped":\{"durations":\[20\]\}/);
  await assert.rejects(set('Mine'), /MODELS_FILE/);
  assert.deepEqual(modelNamed(await readCatalog(db), 'nova-1')?.durations, [5]);
  await first();
  const other = { name: 'nova-2', price: { '480p': 9 } };
  await assert.rejects(start(other), /MODELS_FILE differs from the file of a running process/);
  assert.equal(await sourceOf('nova-2'), undefined);
  await second();
  const third = await start(other);
  assert.deepEqual([await sourceOf('nova-1'), await sourceOf('nova-2')], ['operator', 'file']);
  assert.equal((await set('Mine')).changed, true);
  await third();
  const dearer = { name: 'nova-2', price: { '480p': 10 } };
  await assert.rejects(start(dearer), /MODELS_FILE: nova-2: from must be at least 5 minutes/);
  const from = new Date(Date.now() + 600_000).toISOString();
  const next = { ...dearer, from, seed: false };
  for (let restarts = 0; restarts < 2; restarts += 1) await (await start(next))();
  const { prices, seed } = modelNamed(await readCatalog(db), 'nova-2') ?? {};
  assert.equal(seed, false);
  await (await start({ ...dearer, from }))();
  assert.equal(modelNamed(await readCatalog(db), 'nova-2')?.seed, true, 'a file says all');
  const perSecond = prices?.map(({ standard }) => standard['480p']);
  assert.deepEqual(perSecond, [9, 10]);
});
