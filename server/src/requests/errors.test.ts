import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../kernel/errors.ts';
import { consequenceOf } from './errors.ts';

test('a create that reserved says whether its credits are reserved or refunded', () => {
  const task_id = 'task_1';
  const cases = [
    ['invalid_request', { task_id, credits: 'refunded' }, 'refunded', 'new_key'],
    ['service_busy', { task_id, credits: 'refunded' }, 'refunded', 'same_key'],
    ['service_busy', { task_id, credits: 'held' }, 'reserved', 'same_key'],
    ['service_busy', { task_id }, 'reserved', 'same_key'],
    ['service_busy', {}, 'reserved', 'same_key'],
    ['service_busy', { reason: 'not_taken' }, 'no', 'same_key'],
    ['service_busy', { reason: 'account_paused' }, 'no', 'same_key'],
  ] as const;
  for (const [code, details, charged, retry] of cases) {
    const error = new ApiError(code, 'It failed.', { details });
    assert.deepEqual(consequenceOf(error), { charged, retry }, JSON.stringify(details));
  }
});
