import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalOf, refusedSubmit } from './errors.ts';

function answer(status: number, body: unknown, headers: Record<string, string> = {}) {
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
  assert.deepEqual(refusedSubmit(answer(400, SEEN)), {
    kind: 'rejected',
    fault: 'request',
    code: 'invalid_request',
    message: 'The provider did not accept this request.',
    cause: `HTTP 400 InvalidParameter: ${SEEN.error.message}`,
  });
});

test('a 4xx that is not in Ark’s own shape proves nothing', () => {
  for (const body of [undefined, '<html>', {}, { error: 'no' }, { error: { code: 7 } }, []]) {
    assert.equal(refusedSubmit(answer(403, body)).kind, 'unknown', JSON.stringify(body));
  }
});

test('5xx, 408, 409, redirects and a 200 without an id prove nothing, whatever they say', () => {
  for (const status of [200, 202, 301, 307, 408, 409, 500, 502, 503, 504]) {
    assert.equal(refusedSubmit(answer(status, SEEN)).kind, 'unknown', String(status));
  }
});

test('a parameter is the media’s fault when it is about an input', () => {
  const about = (param: string) => refusalOf({ code: 'InvalidParameter', param }, 400);
  assert.equal(about('content[1].image_url'), 'invalid_media');
  assert.equal(about('video_url'), 'invalid_media');
  assert.equal(about('content[0].text'), 'invalid_request');
});

test('a link of ours that Ark can’t fetch is the operator’s to repair', () => {
  assert.equal(refusalOf({ code: 'InvalidParameter.TosURLInvalid' }, 400), 'operator');
});
