import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { nearestAspectRatio } from './aspect-ratio.ts';

test('a picture of a listed ratio gets this ratio', () => {
  const pictures = [
    [500, 500, '1:1'],
    [2100, 900, '21:9'],
    [800, 600, '4:3'],
    [600, 800, '3:4'],
    [1920, 1080, '16:9'],
    [1080, 1920, '9:16'],
  ] as const;
  for (const [width, height, ratio] of pictures) {
    assert.equal(nearestAspectRatio(width, height), ratio);
  }
});

test('any other picture gets the nearest ratio: very wide, very tall, and in between', () => {
  const pictures = [
    [4000, 10, '21:9'],
    [10, 4000, '9:16'],
    [1470, 630, '21:9'],
    [1112, 834, '4:3'],
    [1100, 1000, '1:1'],
    [1300, 1000, '4:3'],
    [2000, 1000, '16:9'],
    [2100, 1000, '21:9'],
  ] as const;
  for (const [width, height, ratio] of pictures) {
    assert.equal(nearestAspectRatio(width, height), ratio, `${width}x${height}`);
  }
});

test('a turned picture gets the turned ratio if it is listed', async () => {
  const side = fc.integer({ min: 1, max: 10_000 });
  await fc.assert(
    fc.property(side, side, (width, height) => {
      const ratio = nearestAspectRatio(width, height);
      const isNotWide = Math.abs(Math.abs(Math.log(width / height)) - Math.log(16 / 9)) > 0.1;
      if (isNotWide && Math.max(width / height, height / width) > 1.9) return; // no 9:21 is listed
      const turned = ratio.split(':').reverse().join(':');
      if (ratio === '21:9' || turned === '21:9') return;
      assert.equal(nearestAspectRatio(height, width), turned);
    }),
  );
});

test('only the proportion of a picture matters, not its size', async () => {
  const side = fc.integer({ min: 1, max: 400 });
  await fc.assert(
    fc.property(side, side, fc.integer({ min: 2, max: 16 }), (width, height, times) => {
      const larger = nearestAspectRatio(width * times, height * times);
      assert.equal(larger, nearestAspectRatio(width, height));
    }),
  );
});
