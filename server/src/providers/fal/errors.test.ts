import { test } from 'node:test';
import { assertTruncated } from '../../../test/providers/long-words.ts';
import { falCause, falJobFailure } from './errors.ts';

test('what is stored of an error text is bounded and well formed', () => {
  assertTruncated((words) => [
    falCause(422, { detail: [{ type: 'x', msg: words }] }),
    falJobFailure(422, [], words).cause,
  ]);
});
