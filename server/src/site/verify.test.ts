import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { freezeClock } from '../../test/frozen-clock.ts';
import { longTest } from '../../test/long.ts';
import { makeVideo, type TestVideo } from '../../test/media/media-files.ts';
import { createRandom, type Random } from '../../test/random.ts';
import { sql } from '../../test/task-fixtures.ts';
import { openTestFolder } from '../../test/temporary-folder.ts';
import { openTestWebsite } from '../../test/website/website.ts';
import { openScratchDirectory } from '../kernel/scratch-directory.ts';
import { createMeasurer } from '../media/measure.ts';
import type { HashUse } from '../media/video/timeline.ts';
import { findSimilar, forgetFingerprints } from '../storage/fingerprints.ts';
import { registerObjects } from '../storage/objects.ts';

const website = await openTestWebsite();
const { db } = website.database;
const folder = await openTestFolder();
const measurer = createMeasurer({ scratch: openScratchDirectory(path.join(folder.path, 's')) });
const at = (name: string) => path.join(folder.path, name);

test('a digest shows whether and when an output was stored, and nothing else', async () => {
  const sha256 = 'ab'.repeat(32);
  await sql(
    db,
    `insert into stored_objects (id, owner_id, role, state, media_type, created_at, sha256)
     values ('obj_1', 'task_1', 'output', 'deleted', 'video/mp4', '2026-11-28T12:00:00Z', $1)`,
    [sha256],
  );
  const ask = async (digest: string) => {
    const { status, body } = await website.stranger.get(`/console/api/verify?sha256=${digest}`);
    return [status, status === 200 ? body : body.error.code];
  };
  assert.deepEqual(await ask(sha256), [200, { stored_at: '2026-11-28T12:00:00.000Z' }]);
  assert.deepEqual(await ask('cd'.repeat(32)), [200, { stored_at: null }]);
  for (const wrong of ['', 'ab', sha256.toUpperCase()]) {
    assert.deepEqual(await ask(wrong), [400, 'invalid_request']);
  }
});

/** A video of some filters instead of the usual picture. */
async function film(name: string, picture: string, options: TestVideo = {}) {
  const filters = `nullsink;${picture}`;
  await makeVideo(at(name), { fps: 12, ...options, filters });
}

const boxes = ({ below }: Random) => {
  const box = () =>
    `drawbox=x=${below(560)}:y=${below(300)}:w=${20 + below(300)}:h=${20 + below(180)}:t=fill` +
    `:color=0x${(2 ** 24 + below(2 ** 24)).toString(16).slice(1)}`;
  const all = Array.from({ length: 3 + below(8) }, box).join();
  return `gradients=size=640x360:rate=12:n=3:speed=0.02:seed=${below(1e6)},${all},trim=duration=2`;
};

async function hashes(name: string, use: HashUse): Promise<string[]> {
  const measured = await measurer.measure(at(name), 'video', {
    source: 'test',
    frames: use === 'stored' ? 'keyframes' : 'all',
    hashUse: use,
  });
  assert.ok(measured.kind === 'measured', JSON.stringify(measured));
  return measured.hashes ?? [];
}

/** Stores a video as an output, without its file. */
async function store(name: string): Promise<void> {
  const video = { ownerId: `task_${name}`, role: 'output', mediaType: 'video/mp4' } as const;
  const frameHashes = await hashes(name, 'stored');
  const object = { ...video, id: `obj_${name}`, sizeBytes: 1, sha256: name, frameHashes };
  await registerObjects(db, { objects: [object] });
  await sql(db, `update stored_objects set state = 'ready' where id = 'obj_${name}'`);
}

async function compare(payload: string | Buffer, headers: Record<string, string> = {}) {
  const { status, body } = await website.stranger.send({
    method: 'POST',
    url: '/console/api/verify',
    payload,
    remoteAddress: payload === 'words' ? '10.2.0.1' : '10.2.0.2',
    headers: { 'content-type': 'video/mp4', ...headers },
  });
  return status === 200 ? body : [status, body.error.details?.reason ?? body.error.code];
}

const cropped = (name: string) =>
  `movie=filename=${at(name)},crop=iw*0.98:ih*0.98:0:0,scale=320:-2`;

test('a re-encoded copy is similar to its output until the hashes of the output are forgotten', async () => {
  await freezeClock(db, 0);
  const random = createRandom(1);
  await film('made', boxes(random));
  await film('copy', cropped('made'));
  await film('other', boxes(random));
  await film('plain', 'color=c=teal:size=640x360:rate=12,trim=duration=2');
  await film('long', 'color=size=64x64:rate=1,trim=duration=31', { fps: 1 });
  await store('plain');
  await store('made');
  const { similar_at: similarAt, ...others } = await compare(await readFile(at('copy')));
  assert.deepEqual([typeof similarAt, others], ['string', {}]);
  const similarTo = async (name: string) =>
    (await findSimilar(db, await hashes(name, 'compared')))?.object_id;
  for (const name of ['other', 'plain']) assert.equal(await similarTo(name), undefined, name);
  const end = `update stored_objects set state = 'deleted', deleted_at = clock_now()`;
  await sql(db, `${end} where id = 'obj_made'`);
  await forgetFingerprints(db, 1);
  assert.equal(await similarTo('copy'), 'obj_made');
  await freezeClock(db, 86_400);
  await forgetFingerprints(db, 1);
  assert.equal(await similarTo('copy'), undefined);
  const [row] = await sql(db, `select sha256 from stored_objects where id = 'obj_made'`);
  assert.deepEqual(row, { sha256: null });
  assert.deepEqual(await compare(await readFile(at('long'))), [400, 'too_long']);
});

test('a file that can’t be compared is refused before it is received, ten times an hour', async () => {
  const large = { 'content-length': '104857601' };
  assert.deepEqual(await compare('words', large), [413, 'payload_too_large']);
  for (let sent = 1; sent < 10; sent += 1) {
    assert.deepEqual(await compare('words', { 'content-type': 'text/plain' }), [400, 'not_media']);
    const { status } = await website.stranger.get(`/console/api/verify?sha256=${'0'.repeat(64)}`);
    assert.equal(status, 200, 'digests are counted apart');
  }
  assert.deepEqual(await compare('words'), [429, 'rate_limited']);
  assert.deepEqual(await sql(db, `select id from stored_objects where role = 'upload'`), []);
});

const cells = 'size=128x72:rate=12';
const wide = 'scale=640:360:flags=neighbor,trim=duration=2';
const PICTURES: ((random: Random, seed: number) => string)[] = [
  boxes,
  (_, seed) => `gradients=size=640x360:rate=12:n=5:type=spiral:seed=${seed},trim=duration=2`,
  (_, seed) => `life=${cells}:seed=${seed}:mold=10,${wide}`,
  (_, seed) => `cellauto=${cells}:seed=${seed}:rule=${seed % 256}:full=1,${wide}`,
  ({ between }) =>
    `mandelbrot=size=640x360:rate=12:start_scale=${between(0.05, 1)}` +
    `:start_x=${between(-1.5, 0)}:start_y=${between(-1, 1)},trim=duration=2`,
];

const COPIES: Record<string, (name: string) => [picture: string, options?: TestVideo]> = {
  'crf 35': (name) => [`movie=filename=${at(name)}`, { codecOptions: { crf: '35' } }],
  'two thirds in size': (name) => [`movie=filename=${at(name)},scale=426:240`],
  '2 % cropped': (name) => [`movie=filename=${at(name)},crop=iw*0.98:ih*0.98`],
  '2 % cropped at two sides': (name) => [`movie=filename=${at(name)},crop=iw*0.98:ih*0.98:0:0`],
  'with wide bars': (name) => [`movie=filename=${at(name)},pad=640:640:0:140`],
  'WebM, VP8': (name) => [`movie=filename=${at(name)}`, { format: 'webm', codec: 'vp8' }],
};

longTest('no two of 10,000 pairs look similar, but copies do', async (t) => {
  await sql(db, 'truncate frame_hashes');
  const random = createRandom(35);
  const found: Record<string, number> = {};
  const count = (title: string, isFound: boolean) => {
    found[title] = (found[title] ?? 0) + Number(isFound);
  };
  /** Films until a hundred videos have hashes. */
  const hundred = async (
    use: HashUse,
    work: (name: string, hashes: string[]) => Promise<unknown>,
  ) => {
    for (let [index, hashed] = [0, 0]; hashed < 100; index += 1) {
      const name = `${use}${index}`;
      await film(name, PICTURES[index % PICTURES.length]?.(random, random.below(1e6)) ?? '');
      const some = await hashes(name, use);
      if (some.length > 0) await work(name, some);
      hashed += Number(some.length > 0);
    }
  };
  const names: string[] = [];
  await hundred('stored', (name) => {
    names.push(name);
    return store(name);
  });
  await hundred('compared', async (_name, some) => {
    count('different', (await findSimilar(db, some)) !== undefined);
  });
  for (const name of names) {
    for (const [title, copy] of Object.entries(COPIES)) {
      await film('copy', ...copy(name));
      const similar = await findSimilar(db, await hashes('copy', 'compared'));
      count(title, similar?.object_id === `obj_${name}`);
    }
  }
  t.diagnostic(`similar, of 100 each: ${JSON.stringify(found)}`);
  assert.equal(found.different, 0);
  for (const title of Object.keys(COPIES)) assert.ok((found[title] ?? 0) >= 80, title);
});
