import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { AV_LOG_QUIET } from 'node-av/constants';
import { Log } from 'node-av/lib';
import { longTest } from '../../test/long.ts';
import { makeVideo, patchBoxes, type TestVideo } from '../../test/media/media-files.ts';
import { createRandom } from '../../test/random.ts';
import { openTestFolder } from '../../test/temporary-folder.ts';
import { exposeCollector, openScratchDirectory } from '../kernel/scratch-directory.ts';
import { createMeasurer, type DecodedFrames, type MediaFacts } from './measure.ts';
import { RefusedMedia } from './measurement.ts';
import { decodeVideo } from './video/decode-video.ts';

const folder = await openTestFolder();
// Files that were refused stay open until they are collected, which would take a minute.
after(() => exposeCollector()());
Log.setLevel(AV_LOG_QUIET);

/** Decodes in this process: a child for each of hundreds of files would take minutes. */
async function decode(bytes: Buffer, frames: DecodedFrames): Promise<MediaFacts | 'refused'> {
  const file = {
    sizeBytes: bytes.length,
    read: (at: number, length: number) => bytes.subarray(at, at + length),
  };
  const container = bytes.readUInt32BE(0) === 0x1a45dfa3 ? 'matroska' : 'mov';
  const options = { rules: null, frames, drawsPoster: false, hashUse: null };
  try {
    return (await decodeVideo(file, container, options)).facts;
  } catch (error) {
    if (error instanceof RefusedMedia) return 'refused';
    throw error;
  }
}

async function assertRefused(bytes: Buffer, title = ''): Promise<void> {
  for (const frames of ['all', 'keyframes'] as const) {
    assert.equal(await decode(bytes, frames), 'refused', `${frames}, ${title}`);
  }
}

async function made(options: TestVideo): Promise<Buffer> {
  const file = path.join(folder.path, 'made');
  await makeVideo(file, { width: 320, height: 180, seconds: 3, ...options });
  return readFile(file);
}

const INDEX_FIRST = { formatOptions: { movflags: '+faststart' } };
const ONE_KEYFRAME = { maxBFrames: 3, fps: 10, codecOptions: { g: '250' } };

/** Videos, with their exact duration in seconds and their number of frames. */
const FILES: [string, TestVideo, seconds?: number, frames?: number][] = [
  ['H.264, mp4', {}],
  ['VP9, WebM', { format: 'webm', codec: 'vp9' }],
  ['VP8, WebM', { format: 'webm', codec: 'vp8' }],
  ['10-bit HEVC, mp4', { codec: 'hevc', pixelFormat: 'yuv420p10le' }],
  ['H.264, mp4, fragments', { formatOptions: { movflags: '+frag_keyframe+empty_moov' } }],
  ['H.264, mp4, B-frames and one keyframe', ONE_KEYFRAME, 3, 30],
  ['HEVC, mp4', { codec: 'hevc' }],
  ['H.264, mp4, index first', INDEX_FIRST],
  ['H.264, mp4, a third left out', { filters: String.raw`select=mod(n\,3)+eq(n\,0)` }, 3, 49],
  ['H.264, QuickTime', { format: 'mov' }],
  ['H.264, Matroska', { format: 'matroska' }],
  ['AV1, mp4', { codec: 'av1' }],
  ['MJPEG', { format: 'mov', codec: 'mjpeg', pixelFormat: 'yuvj420p', seconds: 1 }, 1, 24],
  ['a start at five seconds', { filters: 'setpts=PTS+5/TB' }],
  ['pixels that are not square', { filters: 'setsar=2' }],
  ['a turned picture', { rotationDegrees: 90 }],
  ['one frame', { seconds: 1 / 24 }, 1 / 24, 1],
];

for (const [i, [name, options, seconds = 3, frames = 72]] of FILES.entries()) {
  (i < 4 ? test : longTest)(`all frames and keyframes show the exact facts: ${name}`, async () => {
    for (const audio of [null, 'with'] as const) {
      const bytes = await made({ ...options, audio });
      const all = await decode(bytes, 'all');
      assert.ok(all !== 'refused' && all.kind === 'video');
      assert.ok(Math.abs(all.durationSeconds - seconds) < 0.0015, `${all.durationSeconds} s`);
      assert.equal(all.frames, frames);
      assert.deepEqual(await decode(bytes, 'keyframes'), all);
      const trailing = Buffer.concat([bytes, Buffer.from('trailing bytes that are no box')]);
      assert.deepEqual(await decode(trailing, 'keyframes'), await decode(trailing, 'all'));
    }
  });
}

const TENTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const CUTS = [0.1, ...TENTHS, 9.9, 9.999];
const DAMAGED_BYTES = 1500;

function cut(bytes: Buffer, tenth: number): Buffer {
  return bytes.subarray(0, Math.floor((bytes.length * tenth) / 10));
}

for (const [i, [name, options]] of FILES.entries()) {
  (i === 0 ? test : longTest)(`a cut video is refused, by keyframes too: ${name}`, async () => {
    const bytes = await made({ ...options, audio: 'with' });
    for (const tenth of CUTS) await assertRefused(cut(bytes, tenth), `${tenth}`);
  });
}

longTest('a cut video whose headers were made to fit is refused, by keyframes too', async () => {
  const bytes = await made({ ...INDEX_FIRST, audio: 'with' });
  const mdat = bytes.indexOf('mdat');
  for (const tenth of TENTHS.slice(2)) {
    const shorter = Buffer.from(cut(bytes, tenth));
    shorter.writeUInt32BE(shorter.length - mdat + 4, mdat - 4);
    await assertRefused(shorter, `${tenth}`);
  }
});

function withPart(bytes: Buffer, tenth: number, part: Buffer): Buffer {
  const damaged = Buffer.from(bytes);
  part.copy(damaged, Math.floor((bytes.length * tenth) / 10));
  return damaged;
}

function noise(tenth: number): Buffer {
  const random = createRandom(tenth);
  return Buffer.from(Array.from({ length: DAMAGED_BYTES }, () => random.below(256)));
}

function flipped(bytes: Buffer, tenth: number): Buffer {
  const at = Math.floor((bytes.length * tenth) / 10);
  return Buffer.of(bytes.readUInt8(at) ^ (1 << (tenth % 8)));
}

/** What is done at each tenth of a file. */
const DAMAGE: Record<string, (bytes: Buffer, tenth: number) => Buffer> = {
  hole: (bytes, tenth) => withPart(bytes, tenth, Buffer.alloc(DAMAGED_BYTES)),
  noise: (bytes, tenth) => withPart(bytes, tenth, noise(tenth)),
  bit: (bytes, tenth) => withPart(bytes, tenth, flipped(bytes, tenth)),
};

/** How many of nine damaged files are refused, as `all frames/keyframes`. */
async function refusals(options: TestVideo): Promise<Record<string, [number, number]>> {
  const bytes = await made({ ...options, audio: null });
  const found: Record<string, [number, number]> = {};
  for (const [damage, apply] of Object.entries(DAMAGE)) {
    const counts: [number, number] = [0, 0];
    for (const tenth of TENTHS) {
      const damaged = apply(bytes, tenth);
      counts[0] += Number((await decode(damaged, 'all')) === 'refused');
      counts[1] += Number((await decode(damaged, 'keyframes')) === 'refused');
    }
    found[damage] = counts;
  }
  return found;
}

/** docs/decisions/0059 has the table of all codecs and containers. */
for (const [name, options] of FILES.slice(0, 12)) {
  longTest(`the damage that a full decode and keyframes find: ${name}`, async (t) => {
    const found = await refusals(options);
    t.diagnostic(`${name}: ${JSON.stringify(found)}`);
    // Keyframes leave every hole in doubt, so they refuse no fewer files than all frames do.
    const [inAll = 0, inKeyframes = 0] = found.hole ?? [];
    assert.ok(inKeyframes >= inAll, JSON.stringify(found));
  });
}

longTest(
  'a wrong index, or another codec than the headers say, is refused, by keyframes too',
  async () => {
    const bytes = await made({ ...INDEX_FIRST, audio: null });
    const otherCodec = Buffer.from(bytes);
    otherCodec.write('vp09', otherCodec.lastIndexOf('avc1'));
    const wrong = {
      'a chunk elsewhere': patchBoxes(bytes, 'stco', { 12: bytes.length + 100 }),
      'a chunk that is shifted': patchBoxes(bytes, 'stco', { 12: bytes.indexOf('mdat') + 300 }),
      'a longer sample': patchBoxes(bytes, 'stsz', { 20: 500_000_000 }),
      'a shorter sample': patchBoxes(bytes, 'stsz', { 20: 12 }),
      'another codec': otherCodec,
    };
    for (const [name, damaged] of Object.entries(wrong)) {
      assert.notDeepEqual(damaged, bytes, name);
      await assertRefused(damaged, name);
    }
  },
);

test('what keyframes leave in doubt is decided by all frames', async () => {
  const scratch = openScratchDirectory(path.join(folder.path, 'scratch'));
  const { measure } = createMeasurer({ scratch });
  const bytes = await made({ audio: null, format: 'webm', codec: 'vp8' });
  const file = path.join(folder.path, 'doubtful');
  await writeFile(file, withPart(bytes, 5, Buffer.alloc(64)));
  const all = await measure(file, 'video', { frames: 'all' });
  assert.equal(all.kind, 'measured');
  assert.equal(await decode(await readFile(file), 'keyframes'), 'refused');
  assert.deepEqual(await measure(file, 'video', { frames: 'keyframes' }), all);
});
