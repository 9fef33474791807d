import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ByteSource } from '../byte-source.ts';
import { matroskaIsWhole, matroskaMediaType } from './matroska.ts';

const HEADER = '1a45dfa387' + '428284' + '7765626d';
const LIVE_SEGMENT = '1853806701ffffffffffffff';
const LIVE_CLUSTER = '1f43b67501ffffffffffffff';
const BLOCK = 'a384' + '01020304';

function source(...parts: string[]): ByteSource {
  const bytes = Buffer.from(parts.join(''), 'hex');
  return { sizeBytes: bytes.length, read: (at, length) => bytes.subarray(at, at + length) };
}

test('a live recording without sizes is complete when its last block is complete', () => {
  assert.ok(matroskaIsWhole(source(HEADER, LIVE_SEGMENT, LIVE_CLUSTER, BLOCK, BLOCK)));
  const cut = BLOCK.slice(0, -2);
  assert.ok(!matroskaIsWhole(source(HEADER, LIVE_SEGMENT, LIVE_CLUSTER, BLOCK, cut)));
});

test('a segment with a size is complete when it fits into the file, also with bytes after it', () => {
  assert.ok(matroskaIsWhole(source(HEADER, '1853806786', BLOCK, '00ff00')));
  assert.ok(!matroskaIsWhole(source(HEADER, '1853806787', BLOCK)));
});

test('the document type distinguishes WebM from Matroska', () => {
  assert.equal(matroskaMediaType(source(HEADER)), 'video/webm');
  const matroska = source(HEADER.replace('7765626d', '6d6b7661'));
  assert.equal(matroskaMediaType(matroska), 'video/x-matroska');
});
