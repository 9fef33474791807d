import { test } from 'node:test';
import { assertTruncated } from '../../../test/providers/long-words.ts';
import { replicateCause, replicateJobFailure } from './errors.ts';

test('what is stored of an error text is bounded and well formed', () => {
  assertTruncated((words) => [
    replicateCause(422, { detail: words }),
    replicateJobFailure(words).cause,
  ]);
});
