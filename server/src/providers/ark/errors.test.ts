import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertTruncated } from '../../../test/providers/long-words.ts';
import { arkCause, arkRefusal, refusedSubmit } from './errors.ts';

function response(status: number, body: unknown, headers: Record<string, string> = {}) {
  return { status, headers, body };
}

/** As a refused create was seen to read. */
const SEEN = {
  error: {
    code: 'InvalidParameter',
    message: 'The parameter `duration` is not valid. Request id: 0217570391',
    param: 'duration',
    type: 'BadRequest',
  },
};

test('a refusal in Ark’s own shape keeps the provider’s words for operators alone', () => {
  assert.deepEqual(refusedSubmit(response(400, SEEN)), {
    kind: 'rejected',
    fault: 'request',
    code: 'invalid_request',
    message: 'The provider did not accept this request.',
    cause: `HTTP 400 InvalidParameter: ${SEEN.error.message}`,
  });
});

test('a 4xx that is not in Ark’s own shape proves nothing', () => {
  for (const body of [undefined, '<html>', {}, { error: 'no' }, { error: { code: 7 } }, []]) {
    assert.equal(refusedSubmit(response(403, body)).kind, 'unknown', JSON.stringify(body));
  }
});

test('5xx, 408, 409, redirects and a 200 without an id prove nothing, whatever they say', () => {
  for (const status of [200, 202, 301, 307, 408, 409, 500, 502, 503, 504]) {
    assert.equal(refusedSubmit(response(status, SEEN)).kind, 'unknown', String(status));
  }
});

test('a parameter is the media’s fault when it is about an input', () => {
  const about = (param: string) => arkRefusal({ code: 'InvalidParameter', param }, 400);
  assert.equal(about('content[1].image_url'), 'invalid_media');
  assert.equal(about('video_url'), 'invalid_media');
  assert.equal(about('content[0].text'), 'invalid_request');
});

test('a parameter that no client sets is the operator’s to repair, however it is named', () => {
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

test('a parameter of the client’s stays so when the words beside it name another', () => {
  const message = 'The parameter `duration` is not valid for model x, see callback_url.';
  for (const error of [{ message }, { param: 'duration', message: 'The parameter `model`' }]) {
    assert.equal(arkRefusal({ code: 'InvalidParameter', ...error }, 400), 'invalid_request');
  }
});

test('a link of ours that Ark can’t fetch is the operator’s to repair', () => {
  assert.equal(arkRefusal({ code: 'InvalidParameter.TosURLInvalid' }, 400), 'operator');
});

test('what is stored of an error text is bounded and well formed', () => {
  assertTruncated((words) => [arkCause({ code: 'InvalidParameter', message: words }, 400)]);
});
