import { test } from 'node:test';
import { assertTruncated } from '../../../test/providers/long-texts.ts';
import { replicateCause, replicateJobFailure } from './errors.ts';

test('a stored error text is bounded and well formed', () => {
  assertTruncated((text) => [
    replicateCause({ status: 422, headers: {}, body: { detail: text } }),
    replicateJobFailure(text).cause,
  ]);
});
