import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sniff } from './sniff.ts';

const box = (text: string) => sniff(Buffer.concat([Buffer.alloc(4), Buffer.from(text, 'latin1')]));

test('the first bytes decide the kind', () => {
  assert.deepEqual(sniff(Buffer.from('89504e470d0a1a0a00', 'hex'))?.kind, 'image');
  assert.deepEqual(sniff(Buffer.from('ffd8ffe0', 'hex'))?.kind, 'image');
  assert.deepEqual(sniff(Buffer.from('RIFF....WEBPVP8 '))?.kind, 'image');
  assert.deepEqual(sniff(Buffer.from('1a45dfa3', 'hex'))?.kind, 'video');
  assert.deepEqual(box('ftypisom')?.kind, 'video');
  assert.deepEqual(box('moov')?.kind, 'video');
});

test('pictures in mp4 boxes, other RIFF files and too few bytes are unsupported', () => {
  for (const brand of ['heic', 'avif', 'mif1']) assert.equal(box(`ftyp${brand}`), null);
  assert.equal(sniff(Buffer.from('RIFF....AVI LIST')), null);
  assert.equal(sniff(Buffer.from('GIF89a')), null);
  assert.equal(sniff(Buffer.alloc(0)), null);
});
