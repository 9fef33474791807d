import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { AV_LOG_QUIET, Log } from 'node-av';
import {
  type Colour,
  decodeFrames,
  type Picture,
  writeImage,
} from '../../../local-renderer/test/media-samples.ts';
import { openScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { createMeasurer } from '../../src/media/measure.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { makeImage } from './media-files.ts';
import { deleted, openMediaFixture } from './media-fixture.ts';
import { FRAMES } from './refused-media.ts';

Log.setLevel(AV_LOG_QUIET);
const fixture = await openMediaFixture();
const folder = await temporaryFolder();
after(async () => {
  await fixture.close();
  await folder[Symbol.asyncDispose]();
});
const scratch = openScratchDirectory(path.join(folder.path, 'scratch'));
const { measure } = createMeasurer({ scratch });
const LAST_FRAME = 4 * 24 - 1;

const serve = (path: string, bytes: Uint8Array, headers: Record<string, string> = {}) =>
  fixture.host.serve(path, { kind: 'bytes', bytes, headers });
const fileOf = (name: string) => path.join(folder.path, name);

/** Creates a video that costs exactly these credits and downloads it, as a client does. */
async function generate(body: object, credits: number) {
  const customer = await fixture.customer(credits);
  const accepted = await customer.create(body);
  assert.equal(accepted.status, 202, JSON.stringify(accepted.body));
  const shown = await fixture.settled(accepted.body.id);
  const { body: task } = await customer.task(shown.id);
  assert.equal(task.status, 'completed', JSON.stringify(shown));
  assert.deepEqual([task.credits_used, task.credits_refunded], [credits, 0]);
  assert.equal((await customer.credits()).body.available_credits, 0);
  const delivered = await fetch(task.output.video_url);
  assert.equal(delivered.headers.get('content-type'), 'video/mp4');
  const bytes = Buffer.from(await delivered.arrayBuffer());
  const filePath = fileOf(`${shown.id}.mp4`);
  await writeFile(filePath, bytes);
  return { shown, bytes, filePath, facts: await factsOf(filePath, shown.output_facts) };
}

/** Measures the delivered file; the facts on record must be the same. */
async function factsOf(filePath: string, recorded: object) {
  const measured = await measure(filePath, 'video');
  assert.ok(measured.kind === 'measured' && measured.facts.kind === 'video');
  const credentials = { kind: 'unsigned', why: 'off' };
  assert.deepEqual(recorded, { ...measured.facts, differences: [], credentials });
  return measured.facts;
}

/** Compares 49 points, without the lowest part, where the renderer puts its caption. */
function assertResembles(seen: Picture, expected: Picture) {
  assert.deepEqual([seen.width, seen.height], [expected.width, expected.height]);
  const places = [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95];
  const distances = places.flatMap((x) =>
    places.map((y) => distance(seen.at(x, y * 0.85), expected.at(x, y * 0.85))),
  );
  const mean = distances.reduce((sum, each) => sum + each, 0) / distances.length;
  assert.ok(mean < 12, `the colours differ by ${mean} on average`);
}

function distance(one: Colour, other: Colour): number {
  return Math.max(...one.map((value, index) => Math.abs(value - (other[index] ?? 0))));
}

const firstOf = async (file: string) => (await decodeFrames(file, [0])).frame(0);

test('image-to-video begins with image_url and ends with end_image_url', async () => {
  await makeImage(fileOf('first.webp'), 'webp', 992, 432);
  await writeImage(fileOf('last.jpg'), 992, 432, (x) => (x < 0.5 ? [30, 180, 60] : [220, 220, 40]));
  const [first, last] = await Promise.all(
    ['first.webp', 'last.jpg'].map((name) => readFile(fileOf(name))),
  );
  assert.ok(first && last);
  const body = {
    ...FRAMES,
    aspect_ratio: '21:9',
    image_url: serve('/first', first, { 'content-type': 'text/html' }),
    end_image_url: serve('/last', gzipSync(last), { 'content-encoding': 'gzip' }),
  };
  const { filePath, facts, shown } = await generate(body, 4 * 15);
  const seen = await decodeFrames(filePath, [0, LAST_FRAME]);
  assert.equal(seen.count, LAST_FRAME + 1);
  assertResembles(seen.frame(0), await firstOf(fileOf('first.webp')));
  assertResembles(seen.frame(LAST_FRAME), await firstOf(fileOf('last.jpg')));
  assert.deepEqual([facts.durationSeconds, facts.audio], [4, null]);
  const types = shown.objects.filter(({ role }) => role === 'input').map((each) => each.media_type);
  assert.deepEqual(types.sort(), ['image/jpeg', 'image/webp']);
  await deleted(fixture, shown.id, 'input');
});
