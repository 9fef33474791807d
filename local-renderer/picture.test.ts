import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { crc32 } from 'node:zlib';
import { FilterGraph } from './filter-graph.ts';
import { cover, uprightSteps } from './picture.ts';
import { writeImage } from './test/media-samples.ts';

/** An EXIF chunk of a PNG with junk in it. */
function flawedExif(): Buffer {
  const typed = Buffer.concat([Buffer.from('eXIf'), Buffer.alloc(50, 0xff)]);
  const chunk = Buffer.alloc(typed.length + 8);
  chunk.writeUInt32BE(50, 0);
  typed.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(typed), typed.length + 4);
  return chunk;
}

test('a PNG with flawed EXIF data is drawn', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'picture-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'flawed.png');
  await writeImage(file, 64, 48, () => [200, 30, 30]);
  const png = await readFile(file);
  await writeFile(file, Buffer.concat([png.subarray(0, 33), flawedExif(), png.subarray(33)]));
  using graph = new FilterGraph();
  const drawn = graph.frames(await cover(graph, file, { width: 32, height: 24 }));
  const { value: frame } = await drawn.next();
  assert.deepEqual([frame?.width, frame?.height], [32, 24]);
  frame?.free();
});

const ONE = 65536;

function matrix(a: number, b: number, c: number, d: number): Buffer {
  const bytes = Buffer.alloc(36);
  for (const [index, value] of [a, b, 0, c, d, 0, 0, 0].entries()) {
    bytes.writeInt32LE(value * ONE, index * 4);
  }
  return bytes;
}

const TURNS: [matrix: Buffer | null, ...filters: [name: string, options: object][]][] = [
  [null],
  [matrix(1, 0, 0, 1)],
  [matrix(0, 1, -1, 0), ['transpose', { dir: 'clock' }]],
  [matrix(-1, 0, 0, -1), ['hflip', {}], ['vflip', {}]],
  [matrix(0, -1, 1, 0), ['transpose', { dir: 'cclock' }]],
  [matrix(1, 0, 0, -1), ['vflip', {}]],
  [matrix(-1, 0, 0, 1), ['hflip', {}]],
  [matrix(0, 1, 1, 0), ['transpose', { dir: 'cclock_flip' }]],
  [matrix(0, -1, -1, 0), ['transpose', { dir: 'clock_flip' }]],
  [matrix(0, 0, 0, 0)],
  [Buffer.alloc(4)],
];

test('each camera orientation, mirrored or not, gives its filters, an invalid one none', () => {
  for (const [given, ...filters] of TURNS) assert.deepEqual(uprightSteps(given), filters);
});
