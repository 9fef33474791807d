import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { AV_LOG_QUIET, Log } from 'node-av';
import { FilterGraph } from '../../../../local-renderer/filter-graph.ts';
import { cover } from '../../../../local-renderer/picture.ts';
import { longTest } from '../../../test/long.ts';
import {
  EXIF_FAULTY,
  EXIF_ORIENTATION_6,
  exifOf,
  pngChunk,
  pngOf,
  withJpegSegment,
  withPngChunk,
  withWebpChunks,
} from '../../../test/media/image-parts.ts';
import { makeImage } from '../../../test/media/media-files.ts';
import { openTestFolder } from '../../../test/temporary-folder.ts';
import { openScratchDirectory } from '../../kernel/scratch-directory.ts';
import { createMeasurer } from '../measure.ts';
import { copyWithoutFlaws } from '../without-flaws.ts';

Log.setLevel(AV_LOG_QUIET);

const folder = await openTestFolder();
const file = path.join(folder.path, 'image');
const scratch = openScratchDirectory(path.join(folder.path, 'scratch'));
const { measure } = createMeasurer({ scratch });

async function made(format: 'jpeg' | 'png' | 'webp'): Promise<Buffer> {
  await makeImage(file, format);
  return readFile(file);
}

/** The measured size, as `320x180`; or the reason of the refusal. */
async function verdict(bytes: Buffer): Promise<string> {
  await writeFile(file, bytes);
  const measured = await measure(file, 'image', { source: 'test' });
  if (measured.kind === 'refused') return measured.reason;
  assert.ok(measured.kind === 'measured' && measured.facts.kind === 'image');
  return `${measured.facts.width}x${measured.facts.height}`;
}

const [jpeg, png, webp] = [await made('jpeg'), await made('png'), await made('webp')];
const size = { width: 320, height: 180 };
const junk = Buffer.alloc(50, 0xff);
const withWrongChecksum = pngChunk('eXIf', exifOf(EXIF_ORIENTATION_6)).fill(0, 34);
const flawed = exifOf(EXIF_FAULTY, EXIF_ORIENTATION_6);
const jpegExif = (exif: Buffer) =>
  withJpegSegment(jpeg, 0xe1, Buffer.concat([Buffer.from('Exif\0\0'), exif]));

test('no image is refused for its metadata', async () => {
  const images: [string, Buffer][] = [
    ['PNG with junk as EXIF', withPngChunk(png, pngChunk('eXIf', junk))],
    ['PNG with empty EXIF', withPngChunk(png, pngChunk('eXIf', Buffer.alloc(0)))],
    ['PNG with a faulty entry', withPngChunk(png, pngChunk('eXIf', exifOf(EXIF_FAULTY)))],
    ['PNG with a wrong checksum', withPngChunk(png, withWrongChecksum)],
    ['PNG with a junk profile', withPngChunk(png, pngChunk('iCCP', junk))],
    ['PNG with junk transparency', withPngChunk(png, pngChunk('tRNS', junk))],
    ['JPEG with junk as EXIF', jpegExif(junk)],
    ['JPEG with a faulty entry', jpegExif(exifOf(EXIF_FAULTY))],
    ['JPEG with a junk profile', withJpegSegment(jpeg, 0xe2, Buffer.from('ICC_PROFILE\0\xff\0'))],
    ['JPEG with a junk Adobe segment', withJpegSegment(jpeg, 0xee, Buffer.from('Adobe'))],
    ['WebP with junk as EXIF', withWebpChunks(webp, size, ['EXIF', junk])],
    ['WebP with a faulty entry', withWebpChunks(webp, size, ['EXIF', exifOf(EXIF_FAULTY)])],
    ['WebP with a junk profile', withWebpChunks(webp, { ...size, flags: 0x20 }, ['ICCP', junk])],
  ];
  for (const [title, bytes] of images) assert.equal(await verdict(bytes), '320x180', title);
});

/** A chunk of a name, the number of a method, and packed data. */
const packed = (type: string, data: Buffer, method = 0) =>
  pngChunk(type, Buffer.concat([Buffer.from([0x61, 0, method]), data]));

/** Chunks beside the pixels, at which FFmpeg, libpng or Pillow refuses an image. */
function flawedChunks(): [string, Buffer][] {
  const zeros = (count: number) => deflateSync(Buffer.alloc(count));
  return [
    ['a profile that does not unpack', packed('iCCP', junk)],
    ['a profile that is cut off', packed('iCCP', zeros(9000).subarray(0, 15))],
    ['a profile that unpacks to 300 MB', packed('iCCP', zeros(300_000_000))],
    ['a profile that is packed in another way', packed('iCCP', zeros(9000), 1)],
    ['a profile of its name alone', pngChunk('iCCP', Buffer.from('a'))],
    ['a packed text', packed('zTXt', deflateSync(Buffer.alloc(9000)))],
    ['an international text', pngChunk('iTXt', Buffer.from('a\0\0\0\0\0b'))],
    ['a wrong checksum', withWrongChecksum],
    ['an unknown critical chunk', pngChunk('ABCD', junk)],
  ];
}

/** The file that is stored, as the renderer reads it: the test fails if it can't be drawn. */
async function stored(bytes: Buffer): Promise<Buffer> {
  await writeFile(file, bytes);
  const measured = await measure(file, 'image', { source: 'test' });
  assert.equal(measured.kind, 'measured');
  const copy = await copyWithoutFlaws(file, measured.facts);
  using graph = new FilterGraph();
  const { value: picture } = await graph.frames(await cover(graph, copy, size)).next();
  assert.equal(picture?.width, size.width);
  picture?.free();
  const kept = await readFile(copy);
  if (copy !== file) await rm(copy);
  return kept;
}

test('flaws beside the pixels are left out of the file that is stored', async () => {
  for (const [title, chunk] of flawedChunks()) {
    const bytes = withPngChunk(png, chunk);
    assert.ok((await stored(bytes)).equals(png), title);
  }
  const flawed = pngChunk('ABCD', junk);
  const gamma = pngChunk('gAMA', Buffer.alloc(4));
  const several = withPngChunk(png, Buffer.concat([flawed, gamma, flawed, flawed]));
  assert.ok((await stored(several)).equals(withPngChunk(png, gamma)));
  assert.ok((await stored(Buffer.concat([webp, junk]))).equals(webp), 'after the end of a WebP');
  const many = Buffer.concat(Array(1001).fill(flawed));
  assert.equal(await verdict(withPngChunk(png, many)), 'undecodable');
});

longTest('a sound image is stored as it is, with its metadata', async () => {
  const profile = packed('iCCP', deflateSync(Buffer.alloc(9000)));
  const images = [
    jpeg,
    webp,
    png,
    Buffer.concat([png, junk]),
    Buffer.concat([jpeg, junk]),
    withPngChunk(png, Buffer.concat([profile, pngChunk('tEXt', Buffer.from('a\0b'))])),
    withPngChunk(png, pngChunk('eXIf', exifOf(EXIF_ORIENTATION_6))),
    jpegExif(exifOf(EXIF_ORIENTATION_6)),
  ];
  for (const [index, bytes] of images.entries()) {
    assert.ok((await stored(bytes)).equals(bytes), `image ${index}`);
  }
});

test('a valid orientation is applied, also beside a faulty entry', async () => {
  const sound = exifOf(EXIF_ORIENTATION_6);
  const images: [string, Buffer][] = [
    ['PNG', withPngChunk(png, pngChunk('eXIf', sound))],
    ['PNG, faulty entry', withPngChunk(png, pngChunk('eXIf', flawed))],
    ['JPEG', jpegExif(sound)],
    ['JPEG, faulty entry', jpegExif(flawed)],
    ['WebP', withWebpChunks(webp, size, ['EXIF', sound])],
    ['WebP, faulty entry', withWebpChunks(webp, size, ['EXIF', flawed])],
  ];
  for (const [title, bytes] of images) assert.equal(await verdict(bytes), '180x320', title);
});

longTest('a PNG without all of its rows, passes or colours is refused', async () => {
  const grey = { width: 8, height: 240, depth: 8, colourType: 0 };
  for (const [rows, expected] of [
    [240, '8x240'],
    [300, '8x240'],
    [239, 'undecodable'],
    [0, 'undecodable'],
  ] as const) {
    assert.equal(await verdict(pngOf({ ...grey, rows: Buffer.alloc(rows * 9) })), expected);
  }
  const bits = { width: 9, height: 5, depth: 1, colourType: 0, isInterlaced: true };
  const bytes = 2 + 2 + 2 + 2 * 2 + 2 + 3 * 2 + 2 * 3; // of passes 1 to 7, with filter bytes
  assert.equal(await verdict(pngOf({ ...bits, rows: Buffer.alloc(bytes) })), '9x5');
  assert.equal(await verdict(pngOf({ ...bits, rows: Buffer.alloc(bytes - 1) })), 'undecodable');
  const indexed = { width: 8, height: 2, depth: 8, colourType: 3, rows: Buffer.alloc(18) };
  assert.equal(await verdict(pngOf({ ...indexed, palette: Buffer.alloc(6) })), '8x2');
  assert.equal(await verdict(pngOf(indexed)), 'undecodable');
  assert.equal(await verdict(pngOf({ ...indexed, palette: Buffer.alloc(7) })), 'undecodable');
});

longTest('a lossy WebP without all of its pixels is refused', async () => {
  for (const share of [0.5, 0.99]) {
    const cut = Buffer.from(webp.subarray(0, 2 * Math.floor((webp.length * share) / 2)));
    cut.writeUInt32LE(cut.length - 8, 4);
    cut.writeUInt32LE(cut.length - 20, 16);
    assert.equal(await verdict(cut), 'undecodable', `at ${share}`);
    assert.equal(await verdict(withWebpChunks(cut, size)), 'undecodable', `extended, at ${share}`);
  }
});

longTest(
  'the pixels of a WebP are counted by its picture, whatever its container claims',
  async () => {
    const large = Buffer.from(webp);
    large.writeUInt32LE(0x3fff3fff, 26);
    assert.equal(await verdict(withWebpChunks(large, size)), 'too_many_pixels');
    const claiming = withWebpChunks(webp, { width: 20_000, height: 20_000 });
    assert.equal(await verdict(claiming), 'too_many_pixels');
  },
);

longTest(
  'an animated WebP is not a still image; an animated PNG counts as its first picture',
  async () => {
    const animated = withWebpChunks(webp, { ...size, flags: 0x02 }, ['ANIM', Buffer.alloc(6)]);
    assert.equal(await verdict(animated), 'not_an_image');
    const control = pngChunk('acTL', Buffer.from('0000000200000000', 'hex'));
    assert.equal(await verdict(withPngChunk(png, control)), '320x180');
  },
);
