import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { longTest } from '../../test/long.ts';
import {
  insertInBoxes,
  makeImage,
  makeVideo,
  patchBoxes,
  pngOfClaimedSize,
  type TestVideo,
  withCompressedIndex,
  withFlippedBytes,
} from '../../test/media/media-files.ts';
import { openTestFolder } from '../../test/temporary-folder.ts';
import { openScratchDirectory } from '../kernel/scratch-directory.ts';
import { createMeasurer, type Measurement, type Measurer } from './measure.ts';

const folder = await openTestFolder();
const at = (name: string) => path.join(folder.path, name);
const scratch = openScratchDirectory(at('scratch'));
const measurer = createMeasurer({ scratch });

/** The files have one source, so that a child that measured one without a fault takes the next. */
const measure: Measurer['measure'] = (file, expected, options) =>
  measurer.measure(file, expected, { source: 'test', ...options });

async function measureVideo(options: TestVideo) {
  const file = at('made');
  await makeVideo(file, options);
  return videoFacts(await measure(file, 'video'));
}

async function measureBytes(bytes: Buffer | string, expected: 'image' | 'video', name = 'bytes') {
  await writeFile(at(name), bytes);
  return measure(at(name), expected);
}

async function madeVideo(options: TestVideo = {}): Promise<Buffer> {
  await makeVideo(at('made'), options);
  return readFile(at('made'));
}

async function madeImage(...options: [format: 'jpeg' | 'png' | 'webp' | 'gif', ...number[]]) {
  await makeImage(at('picture'), ...options);
  return readFile(at('picture'));
}

function videoFacts(measurement: Measurement) {
  assert.ok(measurement.kind === 'measured', JSON.stringify(measurement));
  assert.ok(measurement.facts.kind === 'video');
  return measurement.facts;
}

function reasonOf(measurement: Measurement): string {
  return measurement.kind === 'refused' ? measurement.reason : 'measured';
}

function assertSeconds(actual: number, expected: number) {
  assert.ok(Math.abs(actual - expected) < 0.0015, `${actual} s is not ${expected} s`);
}

test('an mp4 is measured by its frames: kind, size, duration, codec and audio', async () => {
  const { audio, durationSeconds, ...facts } = await measureVideo({ seconds: 2.5, audio: 'with' });
  assertSeconds(durationSeconds, 2.5);
  assert.equal(audio?.codec, 'aac');
  assert.ok(Math.abs((audio?.durationSeconds ?? 0) - 2.5) < 0.05);
  const size = { width: 320, height: 180, frames: 60 };
  assert.deepEqual(facts, { kind: 'video', mediaType: 'video/mp4', ...size, videoCodec: 'h264' });
});

longTest('more frames than a minute of 60 fps are measured', async () => {
  const { durationSeconds, frames } = await measureVideo({ seconds: 15.4, fps: 240 });
  assertSeconds(durationSeconds, 15.4);
  assert.equal(frames, 3696);
});

longTest('the size is the displayed size, with rotation and sample aspect applied', async () => {
  const size = ({ width, height }: { width: number; height: number }) => `${width}x${height}`;
  assert.equal(size(await measureVideo({ rotationDegrees: 90 })), '180x320');
  assert.equal(size(await measureVideo({ rotationDegrees: 180 })), '320x180');
  assert.equal(size(await measureVideo({ rotationDegrees: 270, format: 'mov' })), '180x320');
  assert.equal(size(await measureVideo({ filters: 'setsar=2' })), '640x180');
});

longTest('durations in headers are ignored', async () => {
  const honest = await madeVideo({ seconds: 2, audio: 'with' });
  const hours = 360_000_000;
  const lies = [
    patchBoxes(honest, 'mvhd', { 20: hours }),
    patchBoxes(honest, 'mdhd', { 20: hours }),
    patchBoxes(honest, 'tkhd', { 24: hours }),
    patchBoxes(honest, 'elst', { 12: hours }),
    patchBoxes(honest, 'mdhd', { 20: 1 }),
  ];
  for (const lie of lies) {
    assert.notDeepEqual(lie, honest);
    assertSeconds(videoFacts(await measureBytes(lie, 'video')).durationSeconds, 2);
  }
});

test('a video that refers to data outside of itself is refused', async () => {
  const honest = await madeVideo({});
  const at = honest.indexOf('url ');
  assert.ok(at > 0);
  // Its flag says that the data is in this file. Without the flag, an address follows.
  const flag = patchBoxes(honest, 'url ', { 4: 0 });
  assert.equal(reasonOf(await measureBytes(flag, 'video')), 'measured', 'without an address');
  const address = Buffer.from('file:///etc/passwd\0');
  const outside = insertInBoxes(flag, at + 8, address);
  assert.equal(reasonOf(await measureBytes(outside, 'video')), 'external_data');
  const alias = Buffer.from(outside.toString('latin1').replace('url ', 'alis'), 'latin1');
  assert.equal(reasonOf(await measureBytes(alias, 'video')), 'external_data');
  const compressed = withCompressedIndex(outside);
  assert.equal(reasonOf(await measureBytes(compressed, 'video')), 'external_data');
  const harmless = withCompressedIndex(honest);
  assert.equal(reasonOf(await measureBytes(harmless, 'video')), 'measured');
});

longTest('flipped bytes never make the measurer hang or throw', async () => {
  const whole = await madeVideo({ seconds: 1, audio: 'with', width: 160, height: 96 });
  const seeds = Array.from({ length: 200 }, (_, index) => index + 1);
  const outcomes = await Promise.all(
    seeds.map(async (seed) => {
      const flipped = withFlippedBytes(whole, seed, 8);
      return reasonOf(await measureBytes(flipped, 'video', `flipped-${seed}`));
    }),
  );
  for (const outcome of outcomes) {
    assert.ok(['measured', 'undecodable', 'not_a_video', 'too_many_pixels'].includes(outcome));
  }
  assert.ok(outcomes.includes('undecodable'));
});

const IMPOSTORS: [string, string | (() => Promise<Buffer>), 'image' | 'video'][] = [
  ['a text', 'just words, at some length', 'video'],
  ['an empty file', '', 'video'],
  ['an empty file', '', 'image'],
  ['a playlist named .mp4', '#EXTM3U\n#EXTINF:5,\n/etc/hostname\n', 'video'],
  ['a concat script', "ffconcat version 1.0\nfile '/etc/hostname'\n", 'video'],
  ['an SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'image'],
  ['a GIF', () => madeImage('gif'), 'image'],
  ['a video', madeVideo, 'image'],
  ['an image', () => madeImage('png'), 'video'],
  ['audio alone', () => madeVideo({ audio: 'only' }), 'video'],
];
for (const [title, given, expected] of IMPOSTORS) {
  test(`${title} is refused as ${expected}`, async () => {
    const bytes = typeof given === 'string' ? given : await given();
    const reason = expected === 'image' ? 'not_an_image' : 'not_a_video';
    assert.equal(reasonOf(await measureBytes(bytes, expected, 'clip.mp4')), reason);
  });
}

for (const format of ['jpeg', 'png', 'webp'] as const) {
  test(`a complete ${format} passes with its size, a truncated one is refused`, async () => {
    const whole = await madeImage(format);
    const facts = { kind: 'image', mediaType: `image/${format}`, width: 320, height: 180 };
    assert.deepEqual(await measureBytes(whole, 'image'), { kind: 'measured', facts });
    for (const share of [0.1, 0.5, 0.99, 0.9999]) {
      const cut = whole.subarray(0, Math.floor(whole.length * share));
      assert.equal(reasonOf(await measureBytes(cut, 'image')), 'undecodable', `at ${share}`);
    }
  });
}

test('a file with too many pixels is refused, and the bound is named', async () => {
  const refusal = (sides: string, limit: number) => {
    const explanation = `The picture has ${sides} pixels; at most ${limit} are accepted.`;
    return { kind: 'refused', reason: 'too_many_pixels', explanation, limit };
  };
  const png = pngOfClaimedSize(await madeImage('png'), 20_000, 20_000);
  const image = await measureBytes(png, 'image');
  assert.deepEqual(image, refusal('20000 x 20000', 64_000_000));
  const large = await madeVideo({ width: 4096, height: 2320, seconds: 1 / 24 });
  const video = await measureBytes(large, 'video');
  assert.deepEqual(video, refusal('4096 x 2320', 4096 * 2304));
});

const RULES = { shortSide: { min: 100, max: 200 }, belowSeconds: 2 };
const FIRST_INDEX = { formatOptions: { movflags: '+faststart' } };

longTest('decoding ends at the first frame that is too small or too large', async () => {
  const file = at('ruled');
  for (const height of [98, 202]) {
    const clip = await madeVideo({ ...FIRST_INDEX, width: 320, height, seconds: 4 });
    await writeFile(file, clip.fill(0, Math.round(clip.length / 2)));
    assert.equal(reasonOf(await measure(file, 'video')), 'undecodable');
    const broken = { rule: 'shortSide', width: 320, height };
    assert.deepEqual(await measure(file, 'video', { rules: RULES }), { kind: 'stopped', broken });
  }
});

longTest(
  'decoding ends at the first frame past the bound, and the whole duration is given',
  async () => {
    const file = at('ruled');
    const clip = await madeVideo({ ...FIRST_INDEX, maxBFrames: 3, seconds: 4 });
    await writeFile(file, clip.fill(0, Math.round(clip.length * 0.75)));
    assert.equal(reasonOf(await measure(file, 'video')), 'undecodable');
    const stopped = await measure(file, 'video', { rules: RULES });
    assert.ok(stopped.kind === 'stopped' && stopped.broken.rule === 'belowSeconds');
    assertSeconds(stopped.broken.durationSeconds, 4);
    await makeVideo(file, { seconds: 23 / 12 });
    assertSeconds(
      videoFacts(await measure(file, 'video', { rules: RULES })).durationSeconds,
      23 / 12,
    );
  },
);

test('a file that needs too much time or memory is refused, and the bound is named', async () => {
  await makeVideo(at('usual'), {});
  const hasty = createMeasurer({ scratch, timeoutSeconds: 0.01 });
  assert.deepEqual(await hasty.measure(at('usual'), 'video'), {
    kind: 'refused',
    reason: 'decode_too_slow',
    limit: 0.01,
    explanation: 'The file took longer than 0.01 s to decode.',
  });
  const narrow = createMeasurer({ scratch, memoryBytes: 20 * 2 ** 20 });
  const outcome = await narrow.measure(at('usual'), 'video');
  if (process.platform !== 'linux') return assert.equal(outcome.kind, 'measured');
  assert.deepEqual(outcome, {
    kind: 'refused',
    reason: 'decode_too_large',
    limit: 20 * 2 ** 20,
    explanation: 'The file needs more than 20 MB to decode.',
  });
});

test('a file that cannot be read is a failure of the service and throws', async () => {
  await assert.rejects(measure(at('missing'), 'video'), { code: 'ENOENT' });
});

test('an abort ends a running measurement and a waiting one', async () => {
  await makeVideo(at('usual'), {});
  const one = createMeasurer({ scratch, concurrency: 1 });
  const aborting = new AbortController();
  const both = [1, 2].map(() => one.measure(at('usual'), 'video', { signal: aborting.signal }));
  const settled = Promise.allSettled(both);
  aborting.abort(new Error('no longer wanted'));
  for (const outcome of await settled) {
    assert.equal(outcome.status === 'rejected' && outcome.reason.message, 'no longer wanted');
  }
  assert.equal(reasonOf(await one.measure(at('usual'), 'video')), 'measured');
});
