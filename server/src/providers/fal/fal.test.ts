import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { jwks, signedDelivery, USER_ID } from '../../../../simulators/fal/webhook.ts';
import { type CannedResponse, startCannedHost } from '../../../test/providers/canned-host.ts';
import { findInput, input, jobSpec } from '../../../test/providers/job-spec.ts';
import { UsageError } from '../../kernel/errors.ts';
import { parseAllowList } from '../../outbound/addresses.ts';
import { callOnce, createPooledCalls } from '../../outbound/call.ts';
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts';
import { createFalProvider } from './fal.ts';
import { FAL_MODELS, falInput } from './model-input.ts';
import type { FalOptions } from './settings.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const SUBMIT = '/bytedance/seedance-2.0/fast/text-to-video';
const REQUEST = '/bytedance/seedance-2.0/requests/r-1';
const HISTORY = '/v1/models/requests/by-endpoint';
const JWKS = '/.well-known/jwks.json';
const ID = '024ca5b1-45d3-4afd-883e-ad3abe2a1c4d';

const host = await startCannedHost();
after(() => host.close());
beforeEach(() => host.requests.splice(0));

function fal(changes: Partial<FalOptions> = {}) {
  return createFalProvider({
    apiKey: 'fal-key',
    models: FAL_MODELS,
    call: callOnce,
    readCall: createPooledCalls(),
    guardedFetch: createGuardedFetch({ allow: parseAllowList(new URL(host.url).host) }),
    submitTimeoutSeconds: 5,
    now: () => NOW,
    queueUrl: host.url,
    platformUrl: host.url,
    jwksUrl: host.url + JWKS,
    ...changes,
  });
}

function submitted(response: CannedResponse) {
  host.respond(SUBMIT, response);
  return fal().submit(jobSpec(), () => true);
}

function modelError(type: string, msg = 'text of the model'): CannedResponse {
  return { status: 422, json: { detail: [{ loc: ['body', 'prompt'], msg, type, input: 'x' }] } };
}

test('a submit names the webhook, limits an orphan job and asks fal to keep what was sent', async () => {
  host.respond(SUBMIT, {
    json: {
      status: 'IN_QUEUE',
      request_id: ID,
      gateway_request_id: ID,
      response_url: `https://queue.fal.run/bytedance/seedance-2.0/requests/${ID}`,
      queue_position: 0,
    },
  });
  const outcome = await fal().submit(jobSpec(), () => true);
  assert.deepEqual(outcome, { kind: 'accepted', jobId: ID });
  const [request, ...more] = host.requests;
  assert.ok(request);
  assert.equal(more.length, 0);
  assert.equal(request.url.searchParams.get('fal_webhook'), jobSpec().callbackUrl);
  assert.equal(request.headers.authorization, 'Key fal-key');
  assert.equal(request.headers['x-fal-request-start-timeout'], '3600');
  assert.equal(request.headers['x-fal-no-retry'], '1');
  assert.equal(request.headers['x-fal-store-io'], '1');
  const sent = { ...falInput(jobSpec()), end_user_id: 'att_1' };
  assert.deepEqual(JSON.parse(request.body), sent);
});

test('the mark of the attempt can be switched off', async () => {
  host.respond(SUBMIT, { json: { request_id: ID } });
  await fal({ markWithEndUserId: false }).submit(jobSpec(), () => true);
  assert.deepEqual(JSON.parse(host.requests[0]?.body ?? ''), falInput(jobSpec()));
});

test("a refusal in fal's format is the client's or the operator's fault, or means busy", async () => {
  const refused = async (response: CannedResponse) => {
    const outcome = await submitted(response);
    assert.ok(outcome.kind === 'rejected', JSON.stringify(outcome));
    return outcome.fault === 'request' ? outcome.code : outcome.fault;
  };
  const flat = (status: number, detail: string) => ({ status, json: { detail } });
  assert.equal(await refused(modelError('content_policy_violation')), 'content_refused');
  assert.equal(await refused(modelError('image_too_small')), 'invalid_media');
  assert.equal(await refused(modelError('unsupported_video_format')), 'invalid_media');
  assert.equal(await refused(modelError('literal_error')), 'invalid_request');
  assert.equal(await refused(modelError('file_download_error')), 'operator');
  assert.equal(await refused(flat(400, 'Bad request')), 'invalid_request');
  assert.equal(await refused(flat(401, 'Authentication is required')), 'operator');
  assert.equal(await refused(flat(403, 'User is locked. Reason: Exhausted balance.')), 'operator');
  assert.equal(await refused(flat(404, 'Application not found')), 'operator');
  assert.equal(await refused(flat(418, 'never documented')), 'operator');
  assert.equal(await refused(flat(429, 'Too many requests')), 'busy');
});

test('operators see what fal wrote about a refusal, clients do not', async () => {
  const outcome = await submitted(modelError('content_policy_violation', 'prompt: forbidden word'));
  assert.ok(outcome.kind === 'rejected' && outcome.fault === 'request');
  assert.match(outcome.cause ?? '', /422.*content_policy_violation.*forbidden word/);
  assert.doesNotMatch(outcome.message, /fal|forbidden/);
});

test('Retry-After is passed on', async () => {
  const busy = { status: 429, headers: { 'retry-after': '7' }, json: { detail: 'slow down' } };
  const outcome = await submitted(busy);
  assert.ok(outcome.kind === 'rejected' && outcome.fault === 'busy');
  assert.equal(outcome.retryAfterSeconds, 7);
});

test('after a malformed response, a redirect, a 408, 499 or 5xx the outcome is unknown', async () => {
  const flat = { detail: 'x', error_type: 'internal_error' };
  const open: CannedResponse[] = [
    { status: 200, text: '<html>' },
    { status: 200, json: { status: 'IN_QUEUE' } },
    { status: 200, json: { request_id: '../../other' } },
    { status: 200, json: { request_id: '..' } },
    { status: 200, json: { request_id: 'a\u0000' } },
    { status: 302, headers: { location: '/elsewhere' }, text: '' },
    { status: 403, text: "<html>a proxy's page</html>" },
    { status: 429, json: { message: "not fal's shape" } },
    { status: 408, json: flat },
    { status: 499, json: flat },
    { status: 500, json: flat },
    { status: 503, json: flat },
    { status: 504, text: '' },
  ];
  for (const response of open) {
    const outcome = await submitted(response);
    assert.equal(outcome.kind, 'unknown', JSON.stringify(response));
  }
  assert.equal(host.requests.length, open.length);
});

test('models of several apps are refused at the start: a job id does not say which app it is in', () => {
  const models = { 'video-2.0': 'a/b', 'video-2.0-fast': 'a/b/fast', 'video-2.0-mini': 'c/d' };
  assert.throws(() => fal({ models }), UsageError);
});

const COMPLETED = { json: { status: 'COMPLETED', metrics: { inference_time: 90.1 } } };

function read(status: CannedResponse, result: CannedResponse = { status: 500, text: '' }) {
  host.respond(`${REQUEST}/status`, status);
  host.respond(REQUEST, result);
  return fal().read('r-1');
}

test('a request in the queue, running or in an unknown status is working', async () => {
  for (const word of ['IN_QUEUE', 'IN_PROGRESS', 'WARMING_UP']) {
    const status = await read({ status: 202, json: { status: word, queue_position: 3 } });
    assert.deepEqual(status, { kind: 'working' });
  }
});

test('a completed request has the link of its video', async () => {
  const video = { url: 'https://v3b.fal.media/files/b/x.mp4', content_type: 'video/mp4' };
  const status = await read(COMPLETED, { json: { video, seed: 7 } });
  assert.deepEqual(status, { kind: 'succeeded', output: { url: video.url } });
});

test('a completed request that failed has a code and, if known, that it is not billed', async () => {
  const flat = (status: number, word: string) => {
    const headers = { 'x-fal-error-type': word };
    return { status, headers, json: { detail: 'text', error_type: word } };
  };
  const ended = async (result: CannedResponse, status: CannedResponse = COMPLETED) => {
    const outcome = await read(status, result);
    assert.ok(outcome.kind === 'failed', JSON.stringify(outcome));
    return [outcome.code, outcome.billed];
  };
  const refused = modelError('content_policy_violation');
  assert.deepEqual(await ended(refused), ['content_refused', null]);
  assert.deepEqual(await ended(modelError('file_download_error')), ['provider_failed', null]);
  assert.deepEqual(await ended(flat(499, 'client_cancelled')), ['provider_failed', null]);
  const said = (error_type: string) => ({
    json: { status: 'COMPLETED', error: 'Gone wrong', error_type },
  });
  const expired = ['generation_expired', false];
  for (const word of ['request_timeout', 'generation_timeout']) {
    assert.deepEqual(await ended(flat(504, word), said(word)), expired);
  }
  const bare = { status: 500, text: '' };
  assert.deepEqual(await ended(bare, said('internal_error')), ['provider_failed', false]);
});

test('a 5xx for the result is temporary if the status named no error', async () => {
  const video = { url: 'https://v3b.fal.media/files/b/x.mp4' };
  for (const [status, error_type] of [
    [500, 'internal_error'],
    [503, 'runner_disconnected'],
    [504, 'request_timeout'],
  ] as const) {
    const headers = { 'x-fal-error-type': error_type };
    const trouble = { status, headers, json: { detail: 'Internal error', error_type } };
    await assert.rejects(read(COMPLETED, trouble), /result can't be read/);
    assert.equal((await read(COMPLETED, { json: { video } })).kind, 'succeeded');
  }
});

test('a request is missing only if fal itself says so', async () => {
  const unknown = { status: 404, json: { detail: 'Request not found' } };
  assert.deepEqual(await read(unknown), { kind: 'missing' });
  assert.deepEqual(await read(COMPLETED, unknown), { kind: 'missing' });
  await assert.rejects(read({ status: 404, text: '<html>' }));
});

test('a response that does not show the state of the request is a temporary failure', async () => {
  const nothing: CannedResponse[] = [
    { status: 200, text: '<html>' },
    { status: 400, json: { detail: 'Request is still in progress' } },
    { status: 401, json: { detail: 'Authentication is required' } },
    { status: 429, json: { detail: 'Too many requests' } },
    { status: 500, text: '' },
    { status: 503, json: { detail: 'no error type' } },
  ];
  for (const response of nothing) {
    await assert.rejects(read(response), JSON.stringify(response));
    await assert.rejects(read(COMPLETED, response), JSON.stringify(response));
  }
});

function row(id: string, changes: Record<string, unknown> = {}) {
  const times = { sent_at: new Date(NOW - 5000).toISOString(), ended_at: null };
  const json_input = { ...falInput(jobSpec()), end_user_id: 'att_1' };
  return {
    request_id: id,
    endpoint_id: SUBMIT,
    ...times,
    status_code: 200,
    json_input,
    ...changes,
  };
}

function found(rows: unknown[], options: { taken?: string[] } = {}) {
  host.respond(HISTORY, { json: { items: rows, next_cursor: null, has_more: false } });
  return fal().find(findInput(jobSpec(), NOW - 4000, options.taken));
}

test('a lost request is found by the mark of its attempt, even beside similar ones', async () => {
  const other = { ...falInput(jobSpec()), end_user_id: 'att_2' };
  const outcome = await found([row('r-2', { json_input: other }), row('r-1')]);
  assert.deepEqual(outcome, { kind: 'found', jobId: 'r-1', by: 'mark' });
  const query = host.requests[0]?.url.searchParams;
  assert.equal(query?.get('endpoint_id'), 'bytedance/seedance-2.0/fast/text-to-video');
  assert.equal(query?.get('expand'), 'payloads');
  assert.ok(Date.parse(query?.get('start') ?? '') < NOW - 5000);
  assert.ok(Date.parse(query?.get('end') ?? '') > NOW);
});

test('without its mark a request is found only if everything that was sent is equal', async () => {
  const { end_user_id: _, ...bare } = row('r').json_input;
  const filledIn = { ...bare, bitrate_mode: 'standard', end_user_id: null };
  const outcome = await found([
    row('r-1', { json_input: filledIn }),
    row('r-2', { json_input: { ...bare, resolution: '720p' } }),
    row('r-3', { json_input: undefined }),
  ]);
  assert.deepEqual(outcome, { kind: 'found', jobId: 'r-1', by: 'likeness' });
});

test('a link to an input tells requests apart, even with a new signature', async () => {
  const own = (signature: string, id = 'a') =>
    jobSpec({ mode: 'image-to-video', inputs: [input('first_frame', id, signature)] });
  const rows = [
    row('r-1', { json_input: falInput(own('first')) }),
    row('r-2', { json_input: falInput(own('first', 'b')) }),
  ];
  host.respond(HISTORY, { json: { items: rows, next_cursor: null } });
  const outcome = await fal().find(findInput(own('second'), NOW - 4000));
  assert.deepEqual(outcome, { kind: 'found', jobId: 'r-1', by: 'mark' });
});

test('the request with the mark is found, even beside a similar one without a mark', async () => {
  const { end_user_id: _, ...json_input } = row('r').json_input;
  const outcome = await found([row('r-1'), row('r-2', { json_input })]);
  assert.deepEqual(outcome, { kind: 'found', jobId: 'r-1', by: 'mark' });
});

test('two equal requests are ambiguous until one belongs to another attempt', async () => {
  const { end_user_id: _, ...json_input } = row('r').json_input;
  const rows = [row('r-1', { json_input }), row('r-2', { json_input }), row('r-1', { json_input })];
  assert.deepEqual(await found(rows), { kind: 'ambiguous', jobIds: ['r-1', 'r-2'] });
  assert.deepEqual(await found(rows, { taken: ['r-2'] }), {
    kind: 'found',
    jobId: 'r-1',
    by: 'likeness',
  });
});

test('absence is only a hint, because unfinished requests may not be shown', async () => {
  assert.deepEqual(await found([]), { kind: 'absent', proof: 'weak' });
  const early = row('r-1', { sent_at: new Date(NOW - 600_000).toISOString() });
  assert.deepEqual(await found([early]), { kind: 'absent', proof: 'weak' });
});

test('the history is read up to the end of the longest run, however long ago that was', async () => {
  host.respond(HISTORY, { json: { items: [row('r-1')], next_cursor: null } });
  const dayLater = { now: () => NOW + 86_400_000 };
  const outcome = await fal(dayLater).find(findInput(jobSpec(), NOW - 4000));
  assert.deepEqual(outcome, { kind: 'found', jobId: 'r-1', by: 'mark' });
  const end = Date.parse(host.requests[0]?.url.searchParams.get('end') ?? '');
  assert.equal(end, NOW - 4000 + (3600 + 3600 + 120) * 1000);
});

test('a request with a malformed id is skipped', async () => {
  const rows = [row('../r-1'), row('a\u0000'), row('r-2')];
  assert.deepEqual(await found(rows), { kind: 'found', jobId: 'r-2', by: 'mark' });
  assert.deepEqual(await found([row('..')]), { kind: 'absent', proof: 'weak' });
});

test('every page of the history is read, each after its turn, before a find returns', async () => {
  let turns = 0;
  const nextListTurn = async () => {
    turns += 1;
  };
  host.respond(
    HISTORY,
    { json: { items: [row('r-2', { json_input: {} })], next_cursor: 'second' } },
    { json: { items: [row('r-1')], next_cursor: null } },
  );
  const outcome = await fal({ nextListTurn }).find(findInput(jobSpec(), NOW - 4000));
  assert.deepEqual(outcome, { kind: 'found', jobId: 'r-1', by: 'mark' });
  assert.equal(host.requests[1]?.url.searchParams.get('cursor'), 'second');
  assert.equal(turns, 2);
});

test('a find throws if the history can not be read to its end', async () => {
  const find = () => fal().find(findInput(jobSpec(), NOW - 4000));
  host.respond(HISTORY, { json: { items: [row('r-1')], next_cursor: 'again' } });
  await assert.rejects(find, /more than 20 pages/);
  for (const response of [
    { text: '<html>' },
    { json: { items: [{}] } },
    { status: 403, json: {} },
  ]) {
    host.respond(HISTORY, response);
    await assert.rejects(find, /can't be read/);
  }
});

function receive(
  delivery: { body: string; headers: Record<string, string> },
  changes: Partial<FalOptions> = {},
) {
  const provider = fal(changes);
  assert.ok(provider.readCallback);
  return provider.readCallback({ ...delivery, body: Buffer.from(delivery.body) });
}

const REPORT = {
  request_id: ID,
  gateway_request_id: 'another',
  status: 'OK',
  payload: { seed: 1 },
};

test('a signed webhook names its request, each time it is delivered', async () => {
  host.respond(JWKS, { json: jwks() });
  const delivery = signedDelivery(REPORT, { signedAt: NOW });
  const report = { kind: 'report', jobId: ID, verified: true };
  const provider = fal({ userId: USER_ID });
  const again = { ...delivery, body: Buffer.from(delivery.body) };
  assert.deepEqual(await provider.readCallback?.(again), report);
  assert.deepEqual(await provider.readCallback?.(again), report);
  assert.equal(host.requests.length, 1);
});

test('a signed webhook with a malformed id names no request', async () => {
  host.respond(JWKS, { json: jwks() });
  const report = { ...REPORT, request_id: '../../other' };
  const callback = await receive(signedDelivery(report, { signedAt: NOW }));
  assert.deepEqual(callback, { kind: 'report', jobId: null, verified: true });
});

test('a webhook is forged if its body, time, user or signature was changed', async () => {
  host.respond(JWKS, { json: jwks() });
  const good = signedDelivery(REPORT, { signedAt: NOW });
  const header = (name: string, value: string) => ({
    ...good,
    headers: { ...good.headers, [name]: value },
  });
  const bad = [
    { ...good, body: good.body.replace('OK', 'KO') },
    { ...good, headers: {} },
    header('x-fal-webhook-timestamp', String(NOW / 1000 + 1)),
    header('x-fal-webhook-user-id', 'another'),
    header('x-fal-webhook-signature', 'no hex'),
    signedDelivery(REPORT, { signedAt: NOW, forged: true }),
    signedDelivery(REPORT, { signedAt: NOW - 301_000 }),
    signedDelivery(REPORT, { signedAt: NOW + 301_000 }),
  ];
  for (const delivery of bad) assert.equal((await receive(delivery)).kind, 'forged');
  const another = await receive(good, { userId: 'configured user' });
  assert.equal(another.kind, 'forged');
});

test('reading a webhook throws while the keys can not be read', async () => {
  host.respond(JWKS, { status: 503, text: '' });
  await assert.rejects(receive(signedDelivery(REPORT, { signedAt: NOW })), /keys can't be read/);
});
