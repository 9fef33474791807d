import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arkMeaning, refusedSubmit } from './errors.ts';

const meaning = (error: { code?: string; param?: string; message?: string }) => {
  const means = arkMeaning({ code: 'InvalidParameter', ...error }, 400);
  return typeof means === 'object' ? means.code : means;
};

test('a refused create, as it was observed, is the client’s fault; only operators see Ark’s text', () => {
  const message = 'The parameter `duration` is not valid. Request id: 0217570391';
  const error = { code: 'InvalidParameter', message, param: 'duration', type: 'BadRequest' };
  assert.deepEqual(refusedSubmit({ status: 400, headers: {}, body: { error } }), {
    kind: 'rejected',
    fault: 'request',
    code: 'invalid_request',
    message: 'The provider did not accept this request.',
    cause: `HTTP 400 InvalidParameter: ${message}`,
  });
});

test('a refused parameter of an input is invalid media', () => {
  assert.equal(meaning({ param: 'content[1].image_url' }), 'invalid_media');
  assert.equal(meaning({ param: 'video_url' }), 'invalid_media');
  assert.equal(meaning({ param: 'content[0].text' }), 'invalid_request');
});

test('a refused parameter that no client sets is the operator’s fault, however it is named', () => {
  for (const field of ['callback_url', 'safety_identifier', 'model', 'execution_expires_after']) {
    assert.equal(meaning({ param: field }), 'operator', field);
    assert.equal(meaning({ code: `InvalidParameter.${field}` }), 'operator', field);
    assert.equal(meaning({ code: `MissingParameter.${field}` }), 'operator', field);
    const message = `The parameter \`${field}\` specified in the request is not valid.`;
    assert.equal(meaning({ message }), 'operator', field);
    assert.equal(meaning({ message: `${field} x is not valid` }), 'operator', field);
  }
  assert.equal(meaning({ code: 'InvalidParameter.TosURLInvalid' }), 'operator');
});

test('a refused parameter is the client’s fault, even if the message also names another one', () => {
  const message = 'The parameter `duration` is not valid for model x, see callback_url.';
  for (const error of [{ message }, { param: 'duration', message: 'The parameter `model`' }]) {
    assert.equal(meaning(error), 'invalid_request');
  }
});
