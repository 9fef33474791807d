import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { writeImage } from '../test/media-samples.ts';
import { pictures } from './media-file.ts';

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
  const sizes: string[] = [];
  for await (const { frame } of pictures(file)) {
    using picture = frame;
    sizes.push(`${picture.width}x${picture.height}`);
  }
  assert.deepEqual(sizes, ['64x48']);
});
