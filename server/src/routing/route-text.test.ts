import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatSteps, parseSteps } from './route-text.ts';

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
