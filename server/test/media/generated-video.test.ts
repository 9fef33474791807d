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
import { openTestFolder } from '../temporary-folder.ts';
import { deleted, openMediaFixture } from './media-fixture.ts';
import { FRAMES } from './refused-media.ts';

Log.setLevel(AV_LOG_QUIET);
const fixture = await openMediaFixture();
const folder = await openTestFolder();
after(() => fixture.close());
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

const RED: Colour = [200, 30, 30];
const GREEN: Colour = [30, 180, 60];

/** Asserts the colour of a frame above the renderer's caption. */
function assertColour(seen: Picture, expected: Colour) {
  assert.deepEqual([seen.width, seen.height], [992, 432]);
  const distances = seen.at(0.5, 0.2).map((value, i) => Math.abs(value - (expected[i] ?? 0)));
  assert.ok(Math.max(...distances) < 12, String(distances));
}

test('image-to-video begins with image_url and ends with end_image_url', async () => {
  await writeImage(fileOf('first.png'), 992, 432, () => RED);
  await writeImage(fileOf('last.jpg'), 992, 432, () => GREEN);
  const [first, last] = await Promise.all(
    ['first.png', 'last.jpg'].map((name) => readFile(fileOf(name))),
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
  assertColour(seen.frame(0), RED);
  assertColour(seen.frame(LAST_FRAME), GREEN);
  assert.deepEqual([facts.durationSeconds, facts.audio], [4, null]);
  const types = shown.objects.filter(({ role }) => role === 'input').map((each) => each.media_type);
  assert.deepEqual(types.sort(), ['image/jpeg', 'image/png']);
  await deleted(fixture, shown.id, 'input');
});
