import assert from 'node:assert/strict';
import test from 'node:test';
import { uprightSteps } from './upright.ts';

const ONE = 65536;

function matrix(a: number, b: number, c: number, d: number): Buffer {
  const bytes = Buffer.alloc(36);
  for (const [index, value] of [a, b, 0, c, d, 0, 0, 0].entries()) {
    bytes.writeInt32LE(value * ONE, index * 4);
  }
  return bytes;
}

test('each camera orientation, mirrored or not, gives its filters', () => {
  assert.deepEqual(uprightSteps(null), []);
  assert.deepEqual(uprightSteps(matrix(1, 0, 0, 1)), []);
  assert.deepEqual(uprightSteps(matrix(0, 1, -1, 0)), [['transpose', { dir: 'clock' }]]);
  assert.deepEqual(uprightSteps(matrix(-1, 0, 0, -1)), [
    ['hflip', {}],
    ['vflip', {}],
  ]);
  assert.deepEqual(uprightSteps(matrix(0, -1, 1, 0)), [['transpose', { dir: 'cclock' }]]);
  assert.deepEqual(uprightSteps(matrix(1, 0, 0, -1)), [['vflip', {}]]);
  assert.deepEqual(uprightSteps(matrix(-1, 0, 0, 1)), [['hflip', {}]]);
  assert.deepEqual(uprightSteps(matrix(0, 1, 1, 0)), [['transpose', { dir: 'cclock_flip' }]]);
  assert.deepEqual(uprightSteps(matrix(0, -1, -1, 0)), [['transpose', { dir: 'clock_flip' }]]);
});

test('an invalid matrix gives no filters', () => {
  assert.deepEqual(uprightSteps(matrix(0, 0, 0, 0)), []);
  assert.deepEqual(uprightSteps(Buffer.alloc(4)), []);
});
