import { test } from 'node:test';
import { assertTruncated } from '../../../test/providers/long-texts.ts';
import { replicateCause, replicateJobFailure } from './errors.ts';

test('a stored error text is bounded and well formed', () => {
  assertTruncated((text) => [
    replicateCause(422, { detail: text }),
    replicateJobFailure(text).cause,
  ]);
});
