import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFaultSource, type Fault } from './faults.ts';

const DRAWN: Fault[] = [
  { kind: 'reset_after_body' },
  { kind: 'drop_after_accepting' },
  { kind: 'unreadable' },
];

test('plans are used up in order, each by the requests that match it', () => {
  const faults = createFaultSource();
  faults.add({ faults: [{ kind: 'unreadable' }], match: 'heron' });
  faults.add({ faults: [{ kind: 'slow_body' }], times: 2 });
  faults.add({ faults: [{ kind: 'refuse' }], on: 'read' });
  const kinds = ['an owl', 'a heron', 'a heron', 'a heron'].map((text) =>
    faults.take('submit', text).map(({ kind }) => kind),
  );
  assert.deepEqual(kinds, [['slow_body'], ['unreadable'], ['slow_body'], []]);
  assert.deepEqual(faults.take('read', ''), [{ kind: 'refuse' }]);
  assert.deepEqual(faults.pending(), []);
});

test('a seed always draws the same faults, about as often as the rate says', () => {
  const draw = (seed: number) => {
    const faults = createFaultSource({ rate: 0.33, seed, drawn: { read: DRAWN } });
    return Array.from({ length: 1000 }, () => faults.take('read', '')[0]?.kind);
  };
  const drawn = draw(7);
  assert.deepEqual(draw(7), drawn);
  assert.notDeepEqual(draw(8), drawn);
  const hit = drawn.filter((kind) => kind !== undefined).length;
  assert.ok(hit > 270 && hit < 390, String(hit));
  assert.equal(new Set(drawn).size, new Set(DRAWN).size + 1);
});

test('a call without faults to draw from gets no faults', () => {
  const faults = createFaultSource({ rate: 1, seed: 1, drawn: { read: DRAWN } });
  assert.deepEqual(faults.take('output', ''), []);
});
