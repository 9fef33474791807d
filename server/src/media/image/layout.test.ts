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
