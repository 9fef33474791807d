import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type CannedResponse,
  remoteDeps,
  startCannedHost,
} from '../../../test/providers/canned-host.ts';
import { isJobId } from './job-id.ts';
import { createRefusalReader, MEDIA_FAULT, meaningOfStatus, truncate } from './outcomes.ts';
import { openApi } from './remote.ts';

const host = await startCannedHost();

/** A provider whose errors are `{"error": "text"}`. */
const errorIn = (body: unknown) => {
  const { error } = Object(body);
  return typeof error === 'string' ? { error } : undefined;
};
const causeOf = ({ status, body }: { status: number; body: unknown }) =>
  `HTTP ${status} ${errorIn(body)?.error}`;

async function submitted(response: CannedResponse) {
  host.respond('/jobs', response);
  const refusal = createRefusalReader({
    errorIn,
    causeOf,
    meaningOf: ({ error }, status) =>
      meaningOfStatus(status, error === 'media' ? MEDIA_FAULT : undefined),
    waitSeconds: ({ error }) => (error === 'slow down' ? 30 : undefined),
  });
  const json = { prompt: 'a boat' };
  const answer = { idField: 'id', refusal, mayStillSend: () => true };
  return openApi(remoteDeps(host.url), {}).submit({ url: `${host.url}/jobs`, json, ...answer });
}

const OTHER_TEXTS = '.|..|../x|a/b|a b|a\n|a%2f|a?b|é|\u0000|\ud83d'.split('|');
const OTHER_IDS = [...OTHER_TEXTS, '', 'x'.repeat(201), 7, null, undefined, ['a']];

test('an id that selects another resource in a URL, or can’t be stored, is no job id', async () => {
  for (const id of OTHER_IDS) {
    assert.ok(!isJobId(id), JSON.stringify(id));
    assert.equal((await submitted({ json: { id } })).kind, 'unknown', JSON.stringify(id));
  }
  const valid = ['cgt-20260901-x7k', '024ca5b1-45d3-4afd-883e-ad3abe2a1c4d', 'a.b:c_D', '7'];
  for (const jobId of [...valid, 'x'.repeat(200)]) {
    assert.deepEqual(await submitted({ json: { id: jobId } }), { kind: 'accepted', jobId });
  }
});

test('after a redirect, a timeout, a 5xx or an error in another format the outcome is unknown', async () => {
  for (const status of [202, 301, 307, 408, 409, 425, 499, 500, 502, 503, 504]) {
    const outcome = await submitted({ status, json: { error: 'text' } });
    assert.deepEqual(outcome, { kind: 'unknown', cause: `HTTP ${status} text` });
  }
  for (const text of ['', '<html>', '{}', '[]', 'null', '{"error":{"code":7}}']) {
    const unknown = { kind: 'unknown', cause: 'HTTP 403 without a job id' };
    assert.deepEqual(await submitted({ status: 403, text }), unknown, text);
  }
});

test('a refusal is the request’s or the operator’s fault, or means busy; only operators see its text', async () => {
  const refused = (status: number, error: string, headers = {}) =>
    submitted({ status, headers, json: { error } });
  const cause = 'HTTP 422 media';
  const media = { kind: 'rejected', fault: 'request', ...MEDIA_FAULT, cause };
  assert.deepEqual(await refused(422, 'media'), media);
  for (const status of [400, 413, 422]) {
    const outcome = await refused(status, 'seed is not supported');
    assert.ok(outcome.kind === 'rejected' && outcome.fault === 'request');
    assert.equal(outcome.code, 'invalid_request');
    assert.doesNotMatch(outcome.message, /seed/);
  }
  for (const status of [401, 402, 403, 404, 418]) {
    const operator = { kind: 'rejected', fault: 'operator', cause: `HTTP ${status} text` };
    assert.deepEqual(await refused(status, 'text'), operator);
  }
  const busy = (text: string) => ({ kind: 'rejected', fault: 'busy', cause: `HTTP 429 ${text}` });
  assert.deepEqual(await refused(429, 'text'), busy('text'));
  const waits = { ...busy('slow down'), retryAfterSeconds: 30 };
  assert.deepEqual(await refused(429, 'slow down'), waits);
  const stated = await refused(429, 'slow down', { 'retry-after': '7' });
  assert.deepEqual(stated, { ...waits, retryAfterSeconds: 7 });
  const date = { 'retry-after': new Date().toUTCString() };
  assert.deepEqual(await refused(429, 'text', date), busy('text'));
});

const BOAT = '\u{26F5}\u{1F6F6}';

test('text is cut to a length and is well formed, also if a surrogate pair is cut', () => {
  assert.equal(truncate('a boat'), 'a boat');
  assert.equal(truncate('x'.repeat(2000)).length, 1000);
  assert.equal(truncate('x'.repeat(998) + BOAT), `${'x'.repeat(998)}\u{26F5}\uFFFD`);
  assert.equal(truncate('\udc00 a boat'), '\uFFFD a boat');
});
