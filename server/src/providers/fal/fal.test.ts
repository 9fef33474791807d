import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { jwks, signedDelivery, USER_ID } from '../../../../simulators/fal/webhook.ts';
import {
  type CannedResponse,
  remoteDeps,
  startCannedHost,
} from '../../../test/providers/canned-host.ts';
import { assertFileFields, received, withHeader } from '../../../test/providers/hosted.ts';
import { findInput, input, jobSpec } from '../../../test/providers/job-spec.ts';
import { settingsFrom } from '../../../test/providers/settings.ts';
import { createFal, fal } from './index.ts';
import { endpointOf, FAL_MODELS, falInput } from './model-input.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const SUBMIT = '/bytedance/seedance-2.0/fast/text-to-video';
const REQUEST = '/bytedance/seedance-2.0/requests/r-1';
const HISTORY = '/v1/models/requests/by-endpoint';
const JWKS = '/.well-known/jwks.json';
const ID = '024ca5b1-45d3-4afd-883e-ad3abe2a1c4d';

const host = await startCannedHost();
beforeEach(() => host.requests.splice(0));

function falWith(changes: Record<string, string> = {}, now = NOW) {
  const urls = { FAL_QUEUE_URL: host.url, FAL_PLATFORM_URL: host.url };
  const env = { FAL_API_KEY: 'fal-key', FAL_JWKS_URL: host.url + JWKS, ...urls, ...changes };
  return createFal(settingsFrom(fal, env), remoteDeps(host.url, { now: () => now }));
}

test('a submit names the webhook, limits an orphan job and asks fal to keep what was sent', async () => {
  host.respond(SUBMIT, { json: { status: 'IN_QUEUE', request_id: ID, gateway_request_id: 'x' } });
  for (const FAL_MARK_ATTEMPTS of ['yes', 'no']) {
    const outcome = await falWith({ FAL_MARK_ATTEMPTS }).submit(jobSpec(), () => true);
    assert.deepEqual(outcome, { kind: 'accepted', jobId: ID });
  }
  const [marked, unmarked] = host.requests;
  assert.ok(marked && unmarked);
  assert.equal(marked.url.searchParams.get('fal_webhook'), jobSpec().callbackUrl);
  assert.partialDeepStrictEqual(marked.headers, {
    authorization: 'Key fal-key',
    'x-fal-request-start-timeout': '3600',
    'x-fal-no-retry': '1',
    'x-fal-store-io': '1',
  });
  assert.deepEqual(JSON.parse(marked.body), { ...falInput(jobSpec()), end_user_id: 'att_1' });
  assert.deepEqual(JSON.parse(unmarked.body), falInput(jobSpec()));
});

test('each model and mode has its own endpoint', () => {
  const at = (changes: Parameters<typeof jobSpec>[0]) => endpointOf(jobSpec(changes), FAL_MODELS);
  const image = { model: 'video-2.0-fast', mode: 'image-to-video' } as const;
  const media = { model: 'video-2.0-mini', mode: 'media-to-video' } as const;
  assert.equal(at({ model: 'video-2.0' }), 'bytedance/seedance-2.0/text-to-video');
  assert.equal(at(image), 'bytedance/seedance-2.0/fast/image-to-video');
  assert.equal(at(media), 'bytedance/seedance-2.0/mini/reference-to-video');
});

test('the duration is sent as a string, and the seed is not sent; files have their own fields', () => {
  assert.deepEqual(falInput(jobSpec({ duration: 12, generate_audio: true })), {
    prompt: 'a lighthouse in the fog',
    aspect_ratio: '16:9',
    resolution: '480p',
    duration: '12',
    generate_audio: true,
  });
  assertFileFields(falInput, {
    firstFrame: 'image_url',
    lastFrame: 'end_image_url',
    referenceImages: 'image_urls',
    referenceVideos: 'video_urls',
  });
});

const COMPLETED = { json: { status: 'COMPLETED', metrics: { inference_time: 90.1 } } };

function read(status: CannedResponse, result: CannedResponse = { status: 500, text: '' }) {
  host.respond(`${REQUEST}/status`, status);
  host.respond(REQUEST, result);
  return falWith().read('r-1');
}

test('a 5xx for the result is temporary, unless the status named an error', async () => {
  for (const [status, error_type] of [
    [500, 'internal_error'],
    [503, 'runner_disconnected'],
    [504, 'request_timeout'],
  ] as const) {
    const headers = { 'x-fal-error-type': error_type };
    const trouble = { status, headers, json: { detail: 'Internal error', error_type } };
    await assert.rejects(read(COMPLETED, trouble), /result can't be read/);
  }
  const stated = { json: { ...COMPLETED.json, error: 'Gone wrong', error_type: 'internal_error' } };
  const ended = await read(stated, { status: 500, text: '' });
  assert.ok(ended.kind === 'failed' && ended.code === 'provider_failed' && ended.billed === false);
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

const SENT = falInput(jobSpec());
const MARKED = { ...SENT, end_user_id: 'att_1' };

function row(request_id: string, json_input: unknown, sentAt = NOW - 5000) {
  const sent_at = new Date(sentAt).toISOString();
  return { request_id, endpoint_id: SUBMIT, sent_at, ended_at: null, status_code: 200, json_input };
}

function found(rows: unknown[], spec = jobSpec(), now = NOW) {
  host.respond(HISTORY, { json: { items: rows, next_cursor: null, has_more: false } });
  return falWith({}, now).find(findInput(spec, NOW - 4000));
}

test('a lost request is found by the mark of its attempt, or else by all that was sent', async () => {
  const by = (mark: string) => ({ kind: 'found', jobId: 'r-1', by: mark });
  const filledIn = { ...SENT, bitrate_mode: 'standard', end_user_id: null };
  const framed = (signature: string, id = 'a') =>
    jobSpec({ mode: 'image-to-video', inputs: [input('first_frame', id, signature)] });
  const cases: [rows: unknown[], outcome: object, spec?: ReturnType<typeof jobSpec>][] = [
    [[row('r-2', { ...SENT, end_user_id: 'att_2' }), row('r-1', MARKED)], by('mark')],
    [[row('r-1', MARKED), row('r-2', SENT)], by('mark')],
    [
      [row('r-1', filledIn), row('r-2', { ...SENT, resolution: '720p' }), row('r-3', undefined)],
      by('likeness'),
    ],
    [[row('r-1', MARKED, NOW - 600_000)], { kind: 'absent', proof: 'weak' }],
    // A link to an input is a mark, even with a new signature.
    [
      [row('r-1', falInput(framed('first'))), row('r-2', falInput(framed('first', 'b')))],
      by('mark'),
      framed('second'),
    ],
  ];
  for (const [rows, outcome, spec] of cases) assert.deepEqual(await found(rows, spec), outcome);
});

test('the history is read from the submit to the end of the longest run, page by page', async () => {
  host.respond(
    HISTORY,
    { json: { items: [row('r-2', {})], next_cursor: 'second' } },
    { json: { items: [row('r-1', MARKED)], next_cursor: null } },
  );
  const dayLater = falWith({}, NOW + 86_400_000);
  const outcome = await dayLater.find(findInput(jobSpec(), NOW - 4000));
  assert.deepEqual(outcome, { kind: 'found', jobId: 'r-1', by: 'mark' });
  const [first, second] = host.requests.map(({ url }) => url.searchParams);
  assert.equal(first?.get('endpoint_id'), 'bytedance/seedance-2.0/fast/text-to-video');
  assert.equal(first?.get('expand'), 'payloads');
  assert.ok(Date.parse(first?.get('start') ?? '') < NOW - 5000);
  assert.equal(Date.parse(first?.get('end') ?? ''), NOW - 4000 + (3600 + 3600 + 120) * 1000);
  assert.equal(second?.get('cursor'), 'second');
});

const REPORT = { request_id: ID, gateway_request_id: 'another', status: 'OK', payload: {} };

test('a webhook names its request, and is forged if a part of it was changed', async () => {
  host.respond(JWKS, { json: jwks() });
  const good = signedDelivery(REPORT, { signedAt: NOW });
  const genuine = { kind: 'report', jobId: ID, verified: true };
  assert.deepEqual(await received(falWith({ FAL_USER_ID: USER_ID }), good), genuine);
  const bad = [
    { ...good, body: good.body.replace('OK', 'KO') },
    { ...good, headers: {} },
    withHeader(good, 'x-fal-webhook-timestamp', String(NOW / 1000 + 1)),
    withHeader(good, 'x-fal-webhook-user-id', 'another'),
    withHeader(good, 'x-fal-webhook-signature', 'no hex'),
    signedDelivery(REPORT, { signedAt: NOW, forged: true }),
    signedDelivery(REPORT, { signedAt: NOW - 301_000 }),
    signedDelivery(REPORT, { signedAt: NOW + 301_000 }),
  ];
  for (const delivery of bad) assert.equal((await received(falWith(), delivery)).kind, 'forged');
  const other = falWith({ FAL_USER_ID: 'configured user' });
  assert.equal((await received(other, good)).kind, 'forged');
});
