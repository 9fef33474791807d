import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frameSize, nearestAspectRatio } from './frame-size.ts';
import { ASPECT_RATIOS, RESOLUTIONS } from './models.ts';

test('every size is even and within 2.5% of its ratio', () => {
  for (const resolution of RESOLUTIONS) {
    for (const ratio of ASPECT_RATIOS) {
      const { width, height } = frameSize(resolution, ratio);
      const [across = 0, down = 0] = ratio.split(':').map(Number);
      assert.equal((width % 2) + (height % 2), 0, `${resolution} ${ratio}`);
      assert.ok(Math.abs(width / height / (across / down) - 1) < 0.025, `${resolution} ${ratio}`);
    }
  }
});

test('a portrait size is the landscape size with width and height exchanged', () => {
  assert.deepEqual(frameSize('720p', '4:3'), { width: 1112, height: 834 });
  assert.deepEqual(frameSize('720p', '3:4'), { width: 834, height: 1112 });
  assert.deepEqual(frameSize('720p', '21:9'), { width: 1470, height: 630 });
  assert.deepEqual(frameSize('480p', '9:16'), { width: 496, height: 864 });
});

test('a picture gets its listed ratio, or the nearest: very wide, very tall, and in between', () => {
  const pictures = [
    [500, 500, '1:1'],
    [2100, 900, '21:9'],
    [800, 600, '4:3'],
    [600, 800, '3:4'],
    [1920, 1080, '16:9'],
    [1080, 1920, '9:16'],
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
