import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arkCause } from '../ark/errors.ts';
import { statusOfJob } from '../comfyui/job.ts';
import { falCause, falJobFailure } from '../fal/errors.ts';
import { replicateCause, replicateJobFailure } from '../replicate/errors.ts';
import { truncate } from './truncate.ts';

const BOAT = '\u{26F5}\u{1F6F6}';

test('words are cut to a length, and are well formed wherever the cut falls', () => {
  assert.equal(truncate('a boat'), 'a boat');
  assert.equal(truncate('x'.repeat(2000)).length, 1000);
  assert.equal(truncate(BOAT, 2), '\u{26F5}\uFFFD');
  assert.equal(truncate('\udc00 a boat'), '\uFFFD a boat');
});

/** Told with a letter before it and without, a cut at any length halves one of them. */
const TOLD = [BOAT.slice(1).repeat(1000), `x${BOAT.slice(1).repeat(1000)}`];

test('the words of every adapter are bounded and well formed', () => {
  const causes = TOLD.flatMap((told) => [
    arkCause({ code: 'InvalidParameter', message: told }, 400),
    falCause(422, { detail: [{ type: 'x', msg: told }] }),
    falJobFailure(422, [], told).cause,
    replicateCause(422, { detail: told }),
    replicateJobFailure(told).cause,
    failedInComfyui(told),
  ]);
  for (const cause of causes) {
    assert.ok(cause !== undefined && cause.length <= 1000);
    assert.ok(cause.isWellFormed(), `${cause.slice(0, 40)} ... ${JSON.stringify(cause.slice(-2))}`);
  }
});

function failedInComfyui(told: string): string | undefined {
  const error = { exception_type: 'E', exception_message: told };
  const status = statusOfJob({ id: 'a', status: 'failed', execution_error: error }, 'a');
  return status?.kind === 'failed' ? status.cause : undefined;
}
