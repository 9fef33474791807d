import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { requestOf } from '../../test/requests.ts';
import { type Route, type RouteStep, stepsFor } from './route.ts';
import { formatSteps, parseSteps } from './route-text.ts';

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

const refuse = (bound: string): never => {
  throw new Error(bound);
};

test('steps are read as an operator writes them, and shown in the same way', () => {
  const text =
    'ark-eu; fal-2 model=owner/name weight=2.5 share=0.5 modes=text-to-video,image-to-video ' +
    'resolutions=720p,4k seconds=4-10';
  const steps = parseSteps(` ${text.replaceAll('; ', ';')} `, refuse);
  assert.deepEqual(steps, [
    { connection: 'ark-eu' },
    {
      connection: 'fal-2',
      model_id: 'owner/name',
      weight: 2.5,
      share: 0.5,
      modes: ['text-to-video', 'image-to-video'],
      resolutions: ['720p', '4k'],
      seconds: { min: 4, max: 10 },
    },
  ]);
  assert.equal(formatSteps(steps), text);
});

test('a connection may have several ids of a model, for requests that differ', () => {
  const text =
    'fal model=owner/text modes=text-to-video seconds=4-8; fal modes=text-to-video seconds=9-15; ' +
    'fal model=owner/image.v2 modes=image-to-video';
  assert.equal(formatSteps(parseSteps(text, refuse)), text);
});

test('a mistake in a step says what is expected, and of which connection', () => {
  const mistakes = {
    '': /name of a connection/,
    'ark;': /name of a connection/,
    Ark: /name of a connection/,
    'ark wieght=2': /only the options model, weight.* for ark/,
    'ark toString=2': /only the options/,
    'ark weight=0': /weight=1 to 1000 for ark/,
    'ark share=101': /share=/,
    'ark model=a?b': /model=owner/,
    'ark model=a=b': /model=owner/,
    'ark weight=2=3': /weight=1 to 1000/,
    'ark weight=2 weight=3': /weight once for ark/,
    'ark model=owner/../other': /model=owner/,
    'ark model=..': /model=owner/,
    'fal share=10 model=owner/new; fal': /fal twice only with other modes/,
    'fal modes=text-to-video; ark; fal resolutions=4k': /fal twice/,
    'fal seconds=4-8; fal seconds=8-15': /fal twice/,
    'ark modes=text': /modes=text-to-video/,
    'ark modes=': /modes=/,
    'ark resolutions=8k': /resolutions=480p/,
    'ark seconds=3-10': /seconds=4-15/,
    'ark seconds=10-5': /seconds=4-15/,
  };
  for (const [text, expected] of Object.entries(mistakes)) {
    assert.throws(() => parseSteps(text, refuse), expected, text);
  }
});
