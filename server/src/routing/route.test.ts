import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { requestOf } from '../../test/requests.ts';
import { type Route, type RouteStep, stepsFor } from './route.ts';

const REQUEST = requestOf({ prompt: 'a lighthouse at dawn' });

function connections(route: Route, changes = {}, random = () => 0.5): string[] {
  const deps = { canServe: ({ connection }: RouteStep) => connection !== 'gone', random };
  const steps = stepsFor(route, { ...REQUEST, ...changes }, deps);
  return steps.map(({ connection }) => connection);
}

const inOrder = (...steps: RouteStep[]): Route => ({ choice: 'order', steps });

test('a request goes to the steps whose conditions it meets, in their order', () => {
  const route = inOrder(
    { connection: 'frames', modes: ['image-to-video'] },
    { connection: 'small', resolutions: ['480p', '720p'] },
    { connection: 'gone' },
    { connection: 'long', seconds: { min: 6, max: 15 } },
    { connection: 'all' },
  );
  assert.deepEqual(connections(route), ['small', 'all']);
  assert.deepEqual(connections(route, { duration: 6 }), ['small', 'long', 'all']);
  assert.deepEqual(connections(route, { resolution: '1080p' }), ['all']);
  assert.deepEqual(connections(route, { mode: 'image-to-video' }), ['frames', 'small', 'all']);
  assert.deepEqual(connections(inOrder({ connection: 'gone' })), []);
});

test('a canary comes first for its share of the tasks, and for no other', () => {
  const route = inOrder({ connection: 'new', share: 1 }, { connection: 'old' });
  assert.deepEqual(
    connections(route, {}, () => 0.0099),
    ['new', 'old'],
  );
  assert.deepEqual(
    connections(route, {}, () => 0.01),
    ['old'],
  );
  assert.deepEqual(connections(inOrder({ connection: 'new', share: 1 })), ['new']);
});

/** Of 4,000 draws; the bounds are more than six standard deviations away. */
const DRAWS = 4000;

function firsts(route: Route): Record<string, number> {
  const counts: Record<string, number> = {};
  for (let i = 0; i < DRAWS; i++) {
    const [first = ''] = connections(route, {}, Math.random);
    counts[first] = (counts[first] ?? 0) + 1;
  }
  return counts;
}

test('shares and weights hold on average', () => {
  const { new: canary = 0 } = firsts(
    inOrder({ connection: 'new', share: 10 }, { connection: 'old' }),
  );
  assert.ok(Math.abs(canary - DRAWS * 0.1) < 120, String(canary));
  const steps = [{ connection: 'a', weight: 3 }, { connection: 'b' }];
  const { a = 0 } = firsts({ choice: 'weights', steps });
  assert.ok(Math.abs(a - DRAWS * 0.75) < 170, String(a));
});

test('each connection of a route by weights is tried, whatever is drawn', async () => {
  const numbers = fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 9 });
  await fc.assert(
    fc.property(numbers, (given) => {
      let i = 0;
      const random = () => given[i++ % given.length] ?? 0;
      const steps = ['a', 'b', 'c'].map((connection, index) => ({ connection, weight: index + 1 }));
      assert.deepEqual(connections({ choice: 'weights', steps }, {}, random).sort(), [
        'a',
        'b',
        'c',
      ]);
    }),
  );
});
