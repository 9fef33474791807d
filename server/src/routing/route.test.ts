import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { requestOf } from '../../test/requests.ts';
import { type Chosen, explore, type Route, type RouteStep, stepsFor } from './route.ts';
import { formatSteps, parseSteps } from './route-text.ts';

const REQUEST = requestOf({ prompt: 'a lighthouse at dawn' });

function connections(route: Route, changes = {}, random = () => 0.5): string[] {
  return chosen(route, changes, { random }).map(({ connection }) => connection);
}

function chosen(route: Route, changes: object, given: Partial<Parameters<typeof stepsFor>[2]>) {
  return stepsFor(
    route,
    { ...REQUEST, ...changes },
    {
      canServe: ({ connection }) => connection !== 'gone',
      costOf: () => undefined,
      secondsOf: () => undefined,
      random: () => 0.5,
      ...given,
    },
  );
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

/** With so many draws, the bounds below are more than six standard deviations away. */
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

const LISTED = ['a', 'b', 'c', 'd', 'gone'].map((connection) => ({ connection }));

const reasonsOf = (steps: Chosen[]) => steps.map(({ reason }) => reason);

test('a route by price or time puts the lowest first, unknown ones last, and equal ones as listed', () => {
  const orders = [
    ['price', {}, 'unknown at a', 'unknown at b', 'unknown at c', 'unknown at d'],
    [
      'price',
      { b: [0.5, 'usd'], c: [0.42, 'usd'] },
      '0.42 USD at c',
      '0.5 USD at b',
      'unknown at a',
      'unknown at d',
    ],
    [
      'price',
      { a: [3, 'usd'], b: [2, 'cny'], c: [3, 'usd'], d: [0, 'usd'] },
      '0 USD at d',
      '3 USD at a',
      '3 USD at c',
      '2 CNY at b',
    ],
    ['time', {}, 'unknown at a', 'unknown at b', 'unknown at c', 'unknown at d'],
    [
      'time',
      { a: 90.4, c: 48, d: 47.6 },
      'p50 48 s at d',
      'p50 48 s at c',
      'p50 90 s at a',
      'unknown at b',
    ],
  ] as const;
  for (const [choice, known, ...expected] of orders) {
    const figureOf = ({ connection }: RouteStep) =>
      Object.entries(known).find(([at]) => at === connection)?.[1];
    const costOf = (step: RouteStep) => {
      const found = figureOf(step);
      return Array.isArray(found) ? { amount: found[0], currency: found[1] } : undefined;
    };
    const secondsOf = (step: RouteStep) => figureOf(step);
    const steps = chosen({ choice, steps: LISTED }, {}, { costOf, secondsOf });
    assert.deepEqual(
      reasonsOf(steps),
      expected.map((reason) => `${choice}: ${reason}`),
    );
  }
});

test('a route by price respects conditions and canaries', () => {
  const steps = [
    { connection: 'dear' },
    { connection: 'cheap', share: 10 },
    { connection: 'other', resolutions: ['4k' as const] },
  ];
  const costOf = ({ connection }: RouteStep) => ({ amount: connection.length, currency: 'usd' });
  const reasons = (draw: number) =>
    reasonsOf(chosen({ choice: 'price', steps }, {}, { costOf, random: () => draw }));
  assert.deepEqual(reasons(0.5), ['price: 4 USD at dear']);
  assert.deepEqual(reasons(0.05), ['canary: 10 % at cheap', 'price: 4 USD at dear']);
});

test('one task in 50 begins at a connection that is not the fastest, each equally often', () => {
  const steps = LISTED.slice(0, 3).map((step) => ({ ...step, reason: `time: ${step.connection}` }));
  const explored = (...draws: number[]) =>
    reasonsOf(explore(steps, () => draws.shift() ?? assert.fail('one draw too many')));
  const usual = reasonsOf(steps);
  assert.deepEqual(explored(0.02), usual);
  assert.deepEqual(explored(0.0199, 0.49), ['time: b, explored', 'time: a', 'time: c']);
  assert.deepEqual(explored(0, 0.5), ['time: c, explored', 'time: a', 'time: b']);
  assert.deepEqual(
    explore([{ connection: 'only' }], () => 0),
    [{ connection: 'only' }],
  );
  const canary = [{ connection: 'new', share: 5 }, ...steps];
  assert.equal(
    explore(canary, () => 0),
    canary,
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
    Ark: /name of a connection/,
    'ark wieght=2': /only the options model, weight.* for ark/,
    'ark toString=2': /only the options/,
    'ark weight=0': /weight=1 to 1000 for ark/,
    'ark share=101': /share=/,
    'ark model=a=b': /model=owner/,
    'ark weight=2 weight=3': /weight once for ark/,
    'ark model=owner/../other': /model=owner/,
    'fal share=10 model=owner/new; fal': /fal twice only for different modes/,
    'fal seconds=4-8; fal seconds=8-15': /fal twice/,
    'ark modes=text': /modes=text-to-video/,
    'ark resolutions=8k': /resolutions=480p/,
    'ark seconds=3-10': /seconds=4-15/,
    'ark seconds=10-5': /seconds=4-15/,
  };
  for (const [text, expected] of Object.entries(mistakes)) {
    assert.throws(() => parseSteps(text, refuse), expected, text);
  }
});
