import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { secretKey, signedDelivery } from '../../../../simulators/replicate/webhook.ts';
import { type CannedResponse, startCannedHost } from '../../../test/providers/canned-host.ts';
import { jobSpec } from '../../../test/providers/job-spec.ts';
import { parseAllowList } from '../../outbound/addresses.ts';
import { callOnce, createPooledCalls } from '../../outbound/call.ts';
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts';
import { OutputGone } from '../provider.ts';
import { REPLICATE_MODELS, replicateInput } from './model-input.ts';
import { createReplicateProvider } from './replicate.ts';
import type { ReplicateOptions } from './settings.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const CREATE = '/v1/models/bytedance/seedance-2.0-fast/predictions';
const PREDICTIONS = '/v1/predictions';
const SECRET = '/v1/webhooks/default/secret';
const ID = 'ufawqhfynnddngldkgtslldrkq';

const host = await startCannedHost();
after(() => host.close());
beforeEach(() => host.requests.splice(0));

function replicate(changes: Partial<ReplicateOptions> = {}) {
  return createReplicateProvider({
    apiToken: 'r8_token',
    models: REPLICATE_MODELS,
    call: callOnce,
    readCall: createPooledCalls(),
    guardedFetch: createGuardedFetch({ allow: parseAllowList(new URL(host.url).host) }),
    submitTimeoutSeconds: 5,
    now: () => NOW,
    baseUrl: host.url,
    ...changes,
  });
}

function submitted(response: CannedResponse) {
  host.respond(CREATE, response);
  return replicate().submit(jobSpec(), () => true);
}

test('a create asks for both webhooks and a deadline, and does not wait for the video', async () => {
  const prediction = { id: ID, model: 'bytedance/seedance-2.0-fast', status: 'starting' };
  host.respond(CREATE, { status: 201, json: prediction });
  const provider = replicate();
  const outcome = await provider.submit(jobSpec(), () => true);
  assert.deepEqual(outcome, { kind: 'accepted', jobId: ID });
  const [request, ...more] = host.requests;
  assert.ok(request);
  assert.equal(more.length, 0);
  assert.equal(request.headers.authorization, 'Bearer r8_token');
  assert.equal(request.headers['cancel-after'], '60m');
  assert.equal(request.headers.prefer, undefined);
  assert.deepEqual(JSON.parse(request.body), {
    input: replicateInput(jobSpec()),
    webhook: jobSpec().callbackUrl,
    webhook_events_filter: ['start', 'completed'],
  });
});

test("a model that Replicate does not offer is the operator's fault, and nothing is sent", async () => {
  const provider = replicate();
  const outcome = await provider.submit(jobSpec({ model: 'video-2.0-mini' }), () => true);
  assert.ok(outcome.kind === 'rejected' && outcome.fault === 'operator');
  assert.match(outcome.cause, /video-2\.0-mini/);
  assert.equal(host.requests.length, 0);
});

test('a model that an operator configured is used', async () => {
  const models = {
    'video-2.0': 'bytedance/seedance-2.0',
    'video-2.0-fast': 'bytedance/seedance-2.0-fast',
    'video-2.0-mini': 'bytedance/seedance-2.0-mini',
  };
  host.respond('/v1/models/bytedance/seedance-2.0-mini/predictions', { json: { id: ID } });
  const provider = replicate({ models });
  const outcome = await provider.submit(jobSpec({ model: 'video-2.0-mini' }), () => true);
  assert.equal(outcome.kind, 'accepted');
});

test('a refusal is the client’s or the operator’s fault, or means busy', async () => {
  const refused = async (status: number, json: Record<string, unknown>) => {
    const outcome = await submitted({ status, json });
    assert.ok(outcome.kind === 'rejected', JSON.stringify(outcome));
    return outcome.fault === 'request' ? outcome.code : outcome.fault;
  };
  const invalid = (field: string) => ({
    detail: `- ${field}: must be one of the following: "480p", "720p"\n`,
    status: 422,
    title: 'Input validation failed',
    invalid_fields: [{ type: 'enum', field, description: 'must be one of the following' }],
  });
  const version = { title: 'Invalid version or not permitted', detail: 'The version', status: 422 };
  const credit = {
    title: 'Insufficient credit',
    detail: 'You have insufficient credit',
    status: 402,
  };
  assert.equal(await refused(422, invalid('input.resolution')), 'invalid_request');
  assert.equal(await refused(422, invalid('input')), 'invalid_request');
  assert.equal(await refused(422, invalid('input.image')), 'invalid_media');
  assert.equal(await refused(422, invalid('input.reference_images.0')), 'invalid_media');
  assert.equal(await refused(422, invalid('webhook')), 'operator');
  assert.equal(await refused(422, version), 'operator');
  assert.equal(await refused(402, credit), 'operator');
  assert.equal(await refused(401, { detail: 'Unauthenticated' }), 'operator');
  assert.equal(await refused(404, { detail: 'The model was not found.' }), 'operator');
  assert.equal(await refused(429, { detail: 'Request was throttled.' }), 'busy');
});

test('a 429 says when to retry, in a header or in its text', async () => {
  const detail = 'Request was throttled. Your rate limit resets in ~17s.';
  const headersOf429: Record<string, string>[] = [{}, { 'retry-after': '3' }];
  const waits = [];
  for (const headers of headersOf429) {
    const outcome = await submitted({ status: 429, headers, json: { detail } });
    assert.ok(outcome.kind === 'rejected' && outcome.fault === 'busy');
    waits.push(outcome.retryAfterSeconds);
  }
  assert.deepEqual(waits, [17, 3]);
});

test('after a malformed response, a redirect, a 408 or a 5xx the outcome is unknown', async () => {
  const open: CannedResponse[] = [
    { status: 201, text: '<html>' },
    { status: 201, json: { status: 'starting' } },
    { status: 201, json: { id: '../predictions' } },
    { status: 201, json: { id: '..' } },
    { status: 201, json: { id: 'a\u0000' } },
    { status: 307, headers: { location: '/elsewhere' }, text: '' },
    { status: 403, text: 'error code: 1020' },
    { status: 429, json: { message: 'not in this format' } },
    { status: 408, json: { detail: 'timeout' } },
    { status: 500, json: { title: 'Internal server error', detail: 'x', status: 500 } },
    { status: 502, text: '<html>' },
  ];
  for (const response of open) {
    const outcome = await submitted(response);
    assert.equal(outcome.kind, 'unknown', JSON.stringify(response));
  }
  assert.equal(host.requests.length, open.length);
});

function read(response: CannedResponse) {
  host.respond(`${PREDICTIONS}/${ID}`, response);
  return replicate().read(ID);
}

test('each status of a prediction has its meaning, and an unknown one means working', async () => {
  const meaning = async (status: string, more: Record<string, unknown> = {}) => {
    const outcome = await read({ json: { id: ID, status, output: null, error: null, ...more } });
    return outcome.kind === 'failed' ? [outcome.code, outcome.billed] : outcome.kind;
  };
  for (const word of ['starting', 'processing', 'queued', 'warming']) {
    assert.equal(await meaning(word), 'working', word);
  }
  const sensitive = 'The input or output was flagged as sensitive. (E005) (uIJ6l3ruRD)';
  assert.deepEqual(await meaning('failed', { error: sensitive }), ['content_refused', null]);
  assert.deepEqual(await meaning('failed', { error: 'No E005' }), ['provider_failed', null]);
  assert.deepEqual(await meaning('failed'), ['provider_failed', null]);
  assert.deepEqual(await meaning('aborted'), ['generation_expired', false]);
  assert.deepEqual(await meaning('canceled'), ['generation_expired', true]);
});

test('the output is one link; when Replicate has deleted it, the result is gone', async () => {
  const url = 'https://replicate.delivery/xezq/out.mp4';
  const done = { id: ID, status: 'succeeded', output: url, data_removed: false };
  assert.deepEqual(await read({ json: done }), { kind: 'succeeded', output: { url } });
  const status = await read({ json: { ...done, output: null, data_removed: true } });
  assert.ok(status.kind === 'succeeded');
  await assert.rejects(replicate().openOutput(status.output), OutputGone);
});

test('a prediction is missing only if Replicate itself says so', async () => {
  const unknown = { detail: 'The requested resource could not be found.' };
  assert.deepEqual(await read({ status: 404, json: unknown }), { kind: 'missing' });
  for (const response of [{ status: 404, text: '<html>' }, { status: 401, json: unknown }, {}]) {
    await assert.rejects(read(response), /can't be read/);
  }
});

type Delivery = ReturnType<typeof signedDelivery>;

async function receive(delivery: Delivery, changes: Partial<ReplicateOptions> = {}) {
  const body = Buffer.from(delivery.body);
  const callback = await replicate(changes).readCallback?.({ ...delivery, body });
  assert.ok(callback);
  return callback;
}

const REPORT = { id: ID, status: 'processing', output: null };
const VERIFIED = { kind: 'report', jobId: ID, verified: true };

test('a signed webhook names its prediction, and the secret is fetched once', async () => {
  host.respond(SECRET, { json: { key: secretKey() } });
  const { body, headers } = signedDelivery('msg_1', REPORT, { signedAt: NOW });
  const provider = replicate();
  const delivery = { body: Buffer.from(body), headers };
  assert.deepEqual(await provider.readCallback?.(delivery), VERIFIED);
  assert.deepEqual(await provider.readCallback?.(delivery), VERIFIED);
  assert.equal(host.requests.length, 1);
  assert.equal(host.requests[0]?.headers.authorization, 'Bearer r8_token');
});

test('a configured secret is used, and no secret is fetched', async () => {
  const delivery = signedDelivery('msg_1', REPORT, { signedAt: NOW });
  const good = await receive(delivery, { webhookSecret: secretKey() });
  assert.deepEqual(good, VERIFIED);
  const bad = await receive(delivery, { webhookSecret: 'whsec_b3RoZXI=' });
  assert.equal(bad.kind, 'forged');
  assert.equal(host.requests.length, 0);
});

test('one good signature is enough: while a secret is renewed, there are several', async () => {
  const { body, headers } = signedDelivery('msg_1', REPORT, { signedAt: NOW });
  const several = `v1,b2xk v2,eA== ${headers['webhook-signature']}`;
  const delivery = { body, headers: { ...headers, 'webhook-signature': several } };
  assert.deepEqual(await receive(delivery, { webhookSecret: secretKey() }), VERIFIED);
});

test('a signed webhook with a malformed id names no prediction', async () => {
  const delivery = signedDelivery('msg_1', { ...REPORT, id: '../x' }, { signedAt: NOW });
  const callback = await receive(delivery, { webhookSecret: secretKey() });
  assert.deepEqual(callback, { kind: 'report', jobId: null, verified: true });
});

test('a webhook is forged if its body, id, time or signature was changed', async () => {
  const good = signedDelivery('msg_1', REPORT, { signedAt: NOW });
  const header = (name: string, value: string) => ({
    ...good,
    headers: { ...good.headers, [name]: value },
  });
  const unsigned = (good.headers['webhook-signature'] ?? '').replace('v1,', 'v0,');
  const bad = [
    { ...good, body: good.body.replace('processing', 'succeeded') },
    { ...good, headers: {} },
    header('webhook-id', 'msg_2'),
    header('webhook-timestamp', String(NOW / 1000 + 1)),
    header('webhook-signature', 'v1,'),
    header('webhook-signature', unsigned),
    signedDelivery('msg_1', REPORT, { signedAt: NOW, forged: true }),
    signedDelivery('msg_1', REPORT, { signedAt: NOW - 301_000 }),
  ];
  for (const delivery of bad) {
    const callback = await receive(delivery, { webhookSecret: secretKey() });
    assert.equal(callback.kind, 'forged', JSON.stringify(delivery));
  }
});

test('reading a webhook throws while the secret can not be read', async () => {
  host.respond(SECRET, { status: 500, text: '' });
  const delivery = signedDelivery('msg_1', REPORT, { signedAt: NOW });
  await assert.rejects(receive(delivery), /secret of the webhooks can't be read/);
});
