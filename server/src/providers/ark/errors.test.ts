import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertTruncated } from '../../../test/providers/long-texts.ts';
import { arkCause, arkRefusal, refusedSubmit } from './errors.ts';

function response(status: number, body: unknown, headers: Record<string, string> = {}) {
  return { status, headers, body };
}

/** The body of a refused create, as it was observed. */
const SEEN = {
  error: {
    code: 'InvalidParameter',
    message: 'The parameter `duration` is not valid. Request id: 0217570391',
    param: 'duration',
    type: 'BadRequest',
  },
};

test('only operators see Ark’s own text of a refusal', () => {
  assert.deepEqual(refusedSubmit(response(400, SEEN)), {
    kind: 'rejected',
    fault: 'request',
    code: 'invalid_request',
    message: 'The provider did not accept this request.',
    cause: `HTTP 400 InvalidParameter: ${SEEN.error.message}`,
  });
});

test('a 4xx that is not in Ark’s format leaves the outcome unknown', () => {
  for (const body of [undefined, '<html>', {}, { error: 'no' }, { error: { code: 7 } }, []]) {
    assert.equal(refusedSubmit(response(403, body)).kind, 'unknown', JSON.stringify(body));
  }
});

test('after a 5xx, 408, 409, redirect or 200 without an id the outcome is unknown', () => {
  for (const status of [200, 202, 301, 307, 408, 409, 500, 502, 503, 504]) {
    assert.equal(refusedSubmit(response(status, SEEN)).kind, 'unknown', String(status));
  }
});

test('a refused parameter of an input is invalid media', () => {
  const about = (param: string) => arkRefusal({ code: 'InvalidParameter', param }, 400);
  assert.equal(about('content[1].image_url'), 'invalid_media');
  assert.equal(about('video_url'), 'invalid_media');
  assert.equal(about('content[0].text'), 'invalid_request');
});

test('a refused parameter that no client sets is the operator’s fault, however it is named', () => {
  const about = (error: { code?: string; param?: string; message?: string }) =>
    arkRefusal({ code: 'InvalidParameter', ...error }, 400);
  for (const field of ['callback_url', 'safety_identifier', 'model', 'execution_expires_after']) {
    assert.equal(about({ param: field }), 'operator', field);
    assert.equal(about({ code: `InvalidParameter.${field}` }), 'operator', field);
    assert.equal(about({ code: `MissingParameter.${field}` }), 'operator', field);
    const message = `The parameter \`${field}\` specified in the request is not valid.`;
    assert.equal(about({ message }), 'operator', field);
    assert.equal(about({ message: `${field} x is not valid` }), 'operator', field);
  }
});

test('a refused parameter is the client’s fault, even if the message also names another one', () => {
  const message = 'The parameter `duration` is not valid for model x, see callback_url.';
  for (const error of [{ message }, { param: 'duration', message: 'The parameter `model`' }]) {
    assert.equal(arkRefusal({ code: 'InvalidParameter', ...error }, 400), 'invalid_request');
  }
});

test('an input link that Ark can’t fetch is the operator’s fault', () => {
  assert.equal(arkRefusal({ code: 'InvalidParameter.TosURLInvalid' }, 400), 'operator');
});

test('a stored error text is bounded and well formed', () => {
  assertTruncated((text) => [arkCause({ code: 'InvalidParameter', message: text }, 400)]);
});
