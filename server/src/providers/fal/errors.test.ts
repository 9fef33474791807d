import { test } from 'node:test';
import { assertTruncated } from '../../../test/providers/long-texts.ts';
import { falCause, falJobFailure } from './errors.ts';

test('a stored error text is bounded and well formed', () => {
  assertTruncated((text) => [
    falCause({ status: 422, headers: {}, body: { detail: [{ type: 'x', msg: text }] } }),
    falJobFailure(422, [], text).cause,
  ]);
});
