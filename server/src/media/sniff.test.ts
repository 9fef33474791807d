import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sniff } from './sniff.ts';

const box = (text: string) => sniff(Buffer.concat([Buffer.alloc(4), Buffer.from(text, 'latin1')]));

test('pictures in mp4 boxes, other RIFF files and too few bytes are unsupported', () => {
  for (const brand of ['heic', 'avif', 'mif1']) assert.equal(box(`ftyp${brand}`), null);
  assert.equal(sniff(Buffer.from('RIFF....AVI LIST')), null);
  assert.equal(sniff(Buffer.from('GIF89a')), null);
  assert.equal(sniff(Buffer.alloc(0)), null);
});
