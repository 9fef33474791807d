import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXIF_FAULTY, EXIF_ORIENTATION_6, exifOf } from '../../../test/media/image-parts.ts';
import { exifOrientation } from './layout.ts';

test('the orientation is read in both byte orders, whatever the other entries are', () => {
  assert.equal(exifOrientation(exifOf(EXIF_ORIENTATION_6)), 6);
  assert.equal(exifOrientation(exifOf(EXIF_FAULTY, EXIF_ORIENTATION_6, EXIF_FAULTY)), 6);
  const little = '49492a0008000000' + '0100' + '120103000100000008000000' + '00000000';
  assert.equal(exifOrientation(Buffer.from(little, 'hex')), 8);
});

test('without a valid orientation it is 1', () => {
  const invalid = EXIF_ORIENTATION_6.replace('0006', '0009');
  for (const entries of [[], [EXIF_FAULTY], [invalid]]) {
    assert.equal(exifOrientation(exifOf(...entries)), 1);
  }
  const cut = exifOf(EXIF_ORIENTATION_6).subarray(0, 16);
  for (const junk of [cut, Buffer.alloc(0), Buffer.alloc(40, 0xff)]) {
    assert.equal(exifOrientation(junk), 1);
  }
});
