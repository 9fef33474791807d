import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, quiet } from '../../../test/database.ts';
import { Refusal } from '../../kernel/errors.ts';
import { listActions } from '../actions.ts';
import { MODELS } from './models.ts';

const { db } = await openTestDatabase();

const DEPS = { db, log: quiet, page: { limit: 100, after: undefined } };

function set(given: Record<string, string>) {
  const work = MODELS['models set'].prepare({ name: 'nova-1', ...given });
  return work(DEPS, { command: 'models set', actor: 'ada', reason: 'a test' });
}

test('a model is set and listed in the same words, and each change is recorded', async () => {
  const wish = {
    title: 'Nova',
    price: '720p=20,480p=10',
    reference_price: '480p=4, 720p=8',
    durations: '5,8-10',
    aspect_ratios: '9:16,16:9',
    modes: 'text-to-video',
    sound: 'no',
  };
  const { changed, dropped, ...made } = await set(wish);
  assert.deepEqual([changed, dropped], [true, {}]);
  assert.deepEqual(made, {
    name: 'nova-1',
    state: 'offered',
    source: 'operator',
    next_price: null,
    next_reference_price: null,
    next_from: null,
    seed: 'yes',
    ...wish,
    price: '480p=10,720p=20',
    reference_price: '480p=4,720p=8',
    durations: '5,8,9,10',
    aspect_ratios: '16:9,9:16',
  });
  const { title, price, durations } = made;
  assert.equal((await set({ title, price, durations } as Record<string, string>)).changed, false);
  const from = '2126-01-01T00:00:00Z';
  const { next_price, next_reference_price, next_from } = await set({
    price: '480p=11',
    reference_price: 'none',
    from,
  });
  const next = [next_price, next_reference_price, next_from];
  assert.deepEqual(next, ['480p=11', 'none', new Date(from)]);
  const list = MODELS['models list'].prepare({});
  const listed = await list(DEPS, { command: 'models list', actor: 'ada', reason: null });
  const names = listed.map(({ name }) => name);
  assert.deepEqual(names, ['video-2.0', 'video-2.0-fast', 'video-2.0-mini', 'nova-1']);
  const actions = await listActions(db, { target: 'nova-1', limit: 10 });
  assert.equal(actions.length, 2);
});

test('an invalid value of a model is refused with its field', () => {
  for (const [field, values] of Object.entries({
    name: ['N', 'n', '-nova', 'nova 1', 'x'.repeat(64), '../x'],
    price: ['480p', '480p=', '480p=1.5', '480p=-1', 'a b=1', '480p=1;720p=2', '480p=1234567890'],
    durations: ['5-', '-5', '9-8', '5.5', '1-1000', 'five', ''.padEnd(301, '5,')],
    from: ['soon', '2027-02-30'],
    sound: ['maybe'],
    state: ['retired', 'on'],
    title: ['a\nb', 'x'.repeat(81)],
  })) {
    for (const value of values) {
      assert.throws(
        () => MODELS['models set'].prepare({ name: 'nova-2', price: '480p=1', [field]: value }),
        (error) => error instanceof Refusal && error.field === field,
        `${field} ${value}`,
      );
    }
  }
});
