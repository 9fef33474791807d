import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { secretKey, signedDelivery } from '../../../../simulators/replicate/webhook.ts';
import {
  type CannedResponse,
  remoteDeps,
  startCannedHost,
} from '../../../test/providers/canned-host.ts';
import { assertFileFields, received, withHeader } from '../../../test/providers/hosted.ts';
import { findInput, input, jobSpec } from '../../../test/providers/job-spec.ts';
import { settingsFrom } from '../../../test/providers/settings.ts';
import { OutputGone } from '../provider.ts';
import { createReplicate, replicate } from './index.ts';
import { replicateInput } from './model-input.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const PREDICTIONS = '/v1/predictions';
const SECRET = '/v1/webhooks/default/secret';
const ID = 'ufawqhfynnddngldkgtslldrkq';

const host = await startCannedHost();
beforeEach(() => host.requests.splice(0));

function replicateWith(changes: Record<string, string> = {}) {
  const env = { REPLICATE_API_TOKEN: 'r8_token', REPLICATE_BASE_URL: host.url, ...changes };
  return createReplicate(settingsFrom(replicate, env), remoteDeps(host.url, { now: () => NOW }));
}

const createPath = (model: string) => `/v1/models/${model}/predictions`;

test('a create asks for both webhooks and a deadline, and does not wait for the video', async () => {
  host.respond(createPath('bytedance/seedance-2.0-fast'), { status: 201, json: { id: ID } });
  const outcome = await replicateWith().submit(jobSpec(), () => true);
  assert.deepEqual(outcome, { kind: 'accepted', jobId: ID });
  const [request] = host.requests;
  assert.ok(request);
  const { authorization, 'cancel-after': deadline, prefer } = request.headers;
  assert.deepEqual([authorization, deadline, prefer], ['Bearer r8_token', '60m', undefined]);
  assert.deepEqual(JSON.parse(request.body), {
    input: replicateInput(jobSpec()),
    webhook: jobSpec().callbackUrl,
    webhook_events_filter: ['start', 'completed'],
  });
});

test('a model that Replicate does not offer is the operator’s fault, unless one is configured', async () => {
  const mini = jobSpec({ model: 'video-2.0-mini' });
  const outcome = await replicateWith().submit(mini, () => true);
  assert.ok(outcome.kind === 'rejected' && outcome.fault === 'operator');
  assert.match(outcome.cause, /video-2\.0-mini/);
  assert.equal(host.requests.length, 0);
  host.respond(createPath('acme/mini'), { json: { id: ID } });
  const configured = replicateWith({ REPLICATE_MODEL_MINI: 'acme/mini' });
  assert.equal((await configured.submit(mini, () => true)).kind, 'accepted');
});

test('every parameter is sent, including the seed; files have their own fields', () => {
  assert.deepEqual(replicateInput(jobSpec({ duration: 12, generate_audio: true })), {
    prompt: 'a lighthouse in the fog',
    aspect_ratio: '16:9',
    resolution: '480p',
    duration: 12,
    generate_audio: true,
    seed: 4_294_967_295,
  });
  assertFileFields(replicateInput, {
    firstFrame: 'image',
    lastFrame: 'last_frame_image',
    referenceImages: 'reference_images',
    referenceVideos: 'reference_videos',
  });
});

function read(response: CannedResponse) {
  host.respond(`${PREDICTIONS}/${ID}`, response);
  return replicateWith().read(ID);
}

test('the output is one link; when Replicate has deleted it, the result is gone', async () => {
  const url = 'https://replicate.delivery/xezq/out.mp4';
  const done = { id: ID, status: 'succeeded', output: url, data_removed: false };
  assert.deepEqual(await read({ json: done }), { kind: 'succeeded', output: { url } });
  const status = await read({ json: { ...done, output: null, data_removed: true } });
  assert.ok(status.kind === 'succeeded');
  await assert.rejects(replicateWith().openOutput(status.output), OutputGone);
});

test('the time that an ended prediction computed is read from its metrics, if it is a number', async () => {
  const metrics: [json: string, seconds: number | undefined][] = [
    ['{"predict_time": 12.683, "total_time": 14}', 12.683],
    ['{"predict_time": 1e999}', Number.POSITIVE_INFINITY],
    ['{"predict_time": "12"}', undefined],
    ['{"predict_time": null}', undefined],
    ['null', undefined],
    ['[]', undefined],
    ['"12"', undefined],
  ];
  for (const status of ['succeeded', 'failed', 'canceled', 'aborted']) {
    for (const [json, seconds] of metrics) {
      const ended = await read({
        text: `{"id": "${ID}", "status": "${status}", "metrics": ${json}}`,
      });
      assert.equal('computeSeconds' in ended ? ended.computeSeconds : undefined, seconds, json);
    }
  }
});

test('a prediction is missing only if Replicate itself says so', async () => {
  const unknown = { detail: 'The requested resource could not be found.' };
  assert.deepEqual(await read({ status: 404, json: unknown }), { kind: 'missing' });
  for (const response of [{ status: 404, text: '<html>' }, { status: 401, json: unknown }, {}]) {
    await assert.rejects(read(response), /can't be read/);
  }
});

const SENT = replicateInput(jobSpec());
const FAST = 'bytedance/seedance-2.0-fast';
const OWN = 'https://video.example.com/callbacks/replicate/att_1.token';
const ANOTHERS = OWN.replace('att_1', 'att_12');
const KNOWN_LAG = { REPLICATE_LIST_LAG_SECONDS: '60' };

function row(id: string, changes: Record<string, unknown> = {}) {
  const created_at = new Date(NOW - 4500).toISOString();
  return { id, model: FAST, status: 'starting', input: SENT, created_at, ...changes };
}

function found(rows: unknown[], changes: Record<string, string> = {}, spec = jobSpec()) {
  host.respond(PREDICTIONS, { json: { previous: null, next: null, results: rows } });
  return replicateWith(changes).find(findInput(spec, NOW - 4000));
}

const framed = (signature: string, id = 'a') =>
  jobSpec({ mode: 'image-to-video', inputs: [input('first_frame', id, signature)] });
const framedRow = (id: string, ...of: Parameters<typeof framed>) =>
  row(id, { input: replicateInput(framed(...of)) });

test('a lost prediction is found by its webhook, or else by all that was sent', async () => {
  const by = (mark: string) => ({ kind: 'found', jobId: 'a', by: mark });
  const former = { model: 'a/former-model' };
  const older = OWN.replace('token', 'signed-with-an-older-secret');
  const moved = 'https://other.example/a/prefix/callbacks/replicate/att_1.token?x=1';
  const filledIn = { ...SENT, reference_audios: [] };
  const cases: [rows: unknown[], outcome: object, spec?: ReturnType<typeof jobSpec>][] = [
    [[row('b', { webhook: ANOTHERS }), row('a', { webhook: OWN, input: {} })], by('mark')],
    [[row('b'), row('a', { webhook: OWN })], by('mark')],
    [[row('a', { webhook: older, ...former })], by('mark')],
    [[row('a', { webhook: moved, ...former })], by('mark')],
    [
      [row('a', { input: filledIn }), row('b', { input: { ...filledIn, seed: 1 } })],
      by('likeness'),
    ],
    [[row('a'), row('c', { model: 'bytedance/seedance-2.0' })], by('likeness')],
    // A link to an input is a mark, even with a new signature.
    [[framedRow('a', 'first'), framedRow('b', 'first', 'b')], by('mark'), framed('second')],
  ];
  for (const [rows, outcome, spec] of cases) {
    assert.deepEqual(await found(rows, {}, spec), outcome, JSON.stringify(rows));
  }
  const query = host.requests[0]?.url.searchParams;
  assert.ok(Date.parse(query?.get('created_after') ?? '') < NOW - 5000);
  assert.ok(Date.parse(query?.get('created_before') ?? '') > NOW - 4000);
});

test('absence is strong only if an operator knows how soon the list shows everything, and every prediction in it is certainly another one', async () => {
  assert.deepEqual(await found([]), { kind: 'absent', proof: 'weak' });
  assert.equal(replicateWith(KNOWN_LAG).capabilities.findLagSeconds, 60);
  const other = { input: { ...SENT, seed: 1 } };
  const former = { model: 'a/former-model' };
  const otherFrame = { ...replicateInput(framed('first', 'b')), seed: 1 };
  const cases: [rows: unknown[], proof: 'weak' | 'strong', spec?: ReturnType<typeof jobSpec>][] = [
    [[], 'strong'],
    [[row('a', { input: {}, data_removed: true })], 'weak'],
    [[row('a', other)], 'strong'],
    [[row('a', { ...other, ...former })], 'weak'],
    [[row('a', { ...former, webhook: ANOTHERS })], 'strong'],
    [[row('../a', { webhook: OWN }), row('a\u0000')], 'weak'],
    [[framedRow('a', 'first', 'b')], 'weak', framed('first')],
    [[row('a', { input: otherFrame })], 'strong', framed('first')],
  ];
  for (const [rows, proof, spec] of cases) {
    const outcome = { kind: 'absent', proof };
    assert.deepEqual(await found(rows, KNOWN_LAG, spec), outcome, JSON.stringify(rows));
  }
});

test('a find reads all that Replicate allows an account to create in its window, and sends the token to no other host', async () => {
  const find = () => replicateWith().find(findInput(jobSpec(), NOW - 4000));
  const next = `${host.url}${PREDICTIONS}?cursor=again`;
  const others = Array.from({ length: 100 }, () => row('b', { input: { prompt: 'another' } }));
  const pages = Array.from({ length: 26 }, () => ({ json: { next, results: others } }));
  host.respond(PREDICTIONS, ...pages, { json: { next: null, results: [row('a')] } });
  assert.deepEqual(await find(), { kind: 'found', jobId: 'a', by: 'likeness' });
  assert.equal(host.requests[1]?.url.searchParams.get('cursor'), 'again');
  host.respond(PREDICTIONS, { json: { next: 'https://elsewhere.example/', results: [row('a')] } });
  await assert.rejects(find, /continues on another host/);
});

const REPORT = { id: ID, status: 'processing', output: null };
const VERIFIED = { kind: 'report', jobId: ID, verified: true };
const KNOWN_SECRET = { REPLICATE_WEBHOOK_SECRET: secretKey() };

test('a signed webhook names its prediction; its secret is configured, or fetched once', async () => {
  const delivery = signedDelivery('msg_1', REPORT, { signedAt: NOW });
  assert.deepEqual(await received(replicateWith(KNOWN_SECRET), delivery), VERIFIED);
  const other = replicateWith({ REPLICATE_WEBHOOK_SECRET: 'whsec_b3RoZXI=' });
  assert.equal((await received(other, delivery)).kind, 'forged');
  assert.equal(host.requests.length, 0);
  host.respond(SECRET, { json: { key: secretKey() } });
  const provider = replicateWith();
  assert.deepEqual(await received(provider, delivery), VERIFIED);
  assert.deepEqual(await received(provider, delivery), VERIFIED);
  assert.equal(host.requests.length, 1);
  assert.equal(host.requests[0]?.headers.authorization, 'Bearer r8_token');
  const odd = signedDelivery('msg_1', { ...REPORT, id: '../x' }, { signedAt: NOW });
  assert.deepEqual(await received(provider, odd), { ...VERIFIED, jobId: null });
});

test('a webhook is forged if its body, id, time or signature was changed; one good signature is enough', async () => {
  const good = signedDelivery('msg_1', REPORT, { signedAt: NOW });
  const signature = good.headers['webhook-signature'] ?? '';
  const bad = [
    { ...good, body: good.body.replace('processing', 'succeeded') },
    { ...good, headers: {} },
    withHeader(good, 'webhook-id', 'msg_2'),
    withHeader(good, 'webhook-timestamp', String(NOW / 1000 + 1)),
    withHeader(good, 'webhook-signature', 'v1,'),
    withHeader(good, 'webhook-signature', signature.replace('v1,', 'v0,')),
    signedDelivery('msg_1', REPORT, { signedAt: NOW, forged: true }),
    signedDelivery('msg_1', REPORT, { signedAt: NOW - 301_000 }),
  ];
  for (const delivery of bad) {
    const callback = await received(replicateWith(KNOWN_SECRET), delivery);
    assert.equal(callback.kind, 'forged', JSON.stringify(delivery));
  }
  // While a secret is renewed, there are several.
  const several = withHeader(good, 'webhook-signature', `v1,b2xk v2,eA== ${signature}`);
  assert.deepEqual(await received(replicateWith(KNOWN_SECRET), several), VERIFIED);
});
