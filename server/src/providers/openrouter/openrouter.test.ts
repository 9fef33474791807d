import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { SIGNING_SECRET, signedDelivery } from '../../../../simulators/openrouter/webhook.ts';
import {
  type CannedResponse,
  remoteDeps,
  startCannedHost,
} from '../../../test/providers/canned-host.ts';
import { received, withHeader } from '../../../test/providers/hosted.ts';
import { input, jobSpec } from '../../../test/providers/job-spec.ts';
import { settingsFrom } from '../../../test/providers/settings.ts';
import { parseAllowList } from '../../outbound/addresses.ts';
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts';
import { OutputGone } from '../provider.ts';
import { createOpenRouter, openrouter } from './index.ts';
import { OPENROUTER_MODELS, openRouterBody } from './request.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const ID = 'gen-vid-1790935200-A1b2C3d4E5f6G7h8I9j0';
const VIDEOS = '/api/v1/videos';

const [host, elsewhere] = await Promise.all([startCannedHost(), startCannedHost()]);
beforeEach(() => {
  host.requests.splice(0);
  elsewhere.requests.splice(0);
});

const BASE_URL = `${host.url}/api/v1`;
const KEY = { authorization: 'Bearer sk-or-v1-1' };

function openRouterWith(changes: Record<string, string> = {}) {
  const env = { OPENROUTER_API_KEY: 'sk-or-v1-1', OPENROUTER_BASE_URL: BASE_URL, ...changes };
  const allow = [host, elsewhere].map(({ url }) => new URL(url).host).join();
  const guardedFetch = createGuardedFetch({ allow: parseAllowList(allow) });
  const deps = remoteDeps(host.url, { now: () => NOW, guardedFetch });
  return createOpenRouter(settingsFrom(openrouter, env), deps);
}

test('a submit sends every parameter, the callback’s address and the attempt’s id as session', async () => {
  host.respond(VIDEOS, { status: 202, json: { id: ID, polling_url: 'x', status: 'pending' } });
  const outcome = await openRouterWith().submit(jobSpec(), () => true);
  assert.deepEqual(outcome, { kind: 'accepted', jobId: ID });
  const [request] = host.requests;
  assert.ok(request);
  const { authorization, 'x-session-id': session } = request.headers;
  assert.deepEqual([authorization, session], [KEY.authorization, 'att_1']);
  assert.deepEqual(JSON.parse(request.body), {
    model: 'bytedance/seedance-2.0-fast',
    prompt: 'a lighthouse in the fog',
    aspect_ratio: '16:9',
    resolution: '480p',
    duration: 5,
    generate_audio: false,
    seed: 4_294_967_295,
    callback_url: jobSpec().callbackUrl,
  });
});

test('frames and references have their own fields, in order, and 4k is written as OpenRouter does', () => {
  const image = (id: string) => ({
    type: 'image_url',
    image_url: { url: input('first_frame', id).url },
  });
  const bodyFor = (...inputs: ReturnType<typeof input>[]) => {
    const body = openRouterBody(jobSpec({ inputs, resolution: '4k' }), OPENROUTER_MODELS);
    assert.equal(JSON.parse(JSON.stringify(body)).resolution, '4K');
    return [body.frame_images, body.input_references];
  };
  assert.deepEqual(bodyFor(input('first_frame', 'a'), input('last_frame', 'b')), [
    [
      { ...image('a'), frame_type: 'first_frame' },
      { ...image('b'), frame_type: 'last_frame' },
    ],
    undefined,
  ]);
  const references = [
    input('reference_image', 'a'),
    input('reference_video', 'b'),
    input('reference_image', 'c'),
  ];
  const video = { type: 'video_url', video_url: { url: input('reference_video', 'b').url } };
  assert.deepEqual(bodyFor(...references), [undefined, [image('a'), video, image('c')]]);
});

function read(response: CannedResponse) {
  host.respond(`${VIDEOS}/${ID}`, response);
  return openRouterWith().read(ID);
}

test('a job is missing only if OpenRouter itself says so, and not about a model', async () => {
  const unknown = { code: 404, message: `Job ${ID} not found` };
  assert.deepEqual(await read({ status: 404, json: { error: unknown } }), { kind: 'missing' });
  const aboutModel = { ...unknown, availability: { code: 'no_endpoints' } };
  for (const response of [
    { status: 404, text: '<html>' },
    { status: 404, json: { error: aboutModel } },
    { status: 401, json: { error: unknown } },
    {},
  ]) {
    await assert.rejects(read(response), /can't be read/);
  }
});

test('a failed job is billed if it has a cost, and not known to be without one', async () => {
  const usages = [
    [{ cost: 0.5 }, true],
    [{ cost: 0 }, false],
    [{ cost: null }, null],
    [{ cost: -1 }, null],
  ] as const;
  for (const [usage, billed] of usages) {
    const status = await read({ json: { status: 'failed', error: 'oops', usage } });
    assert.ok(status.kind === 'failed');
    assert.deepEqual([status.cause, status.billed], ['failed: oops', billed]);
  }
});

test('what a job costs is reported, unless another key pays for a part of it', async () => {
  const costs = [
    [
      { cost: 0.1312, is_byok: false },
      { amount: '0.1312', currency: 'usd' },
    ],
    [{ cost: 0 }, { amount: '0', currency: 'usd' }],
    [{ cost: 0.01, is_byok: true }, undefined],
    [{ cost: '0.1' }, undefined],
    [{ cost: -1 }, undefined],
    [undefined, undefined],
  ] as const;
  for (const status of ['completed', 'failed']) {
    for (const [usage, cost] of costs) {
      const ended = await read({ json: { status, usage } });
      assert.deepEqual('cost' in ended ? ended.cost : undefined, cost);
    }
    const infinite = await read({ text: `{"status": "${status}", "usage": {"cost": 1e999}}` });
    assert.ok(!('cost' in infinite));
  }
});

async function download(url: string) {
  const video = await openRouterWith().openOutput({ url });
  return Buffer.concat(await Array.fromAsync(video)).toString();
}

test('a result is at its link, absolute or relative, or else at the job’s content', async () => {
  const content = `${BASE_URL}/videos/${ID}/content?index=0`;
  const cases: [links: unknown, url: string][] = [
    [[content], content],
    [[`${VIDEOS}/${ID}/content?index=0`], content],
    [['https://storage.example/video.mp4'], 'https://storage.example/video.mp4'],
    [[], content],
    [undefined, content],
    [[7], content],
  ];
  for (const [unsigned_urls, url] of cases) {
    const done = { id: ID, status: 'completed', unsigned_urls };
    assert.deepEqual(await read({ json: done }), { kind: 'succeeded', output: { url } });
  }
});

test('the API key goes to the base URL’s own host only, also after a redirect', async () => {
  host.respond('/own', { text: 'video' });
  elsewhere.respond('/video', { text: 'video' });
  const location = `${elsewhere.url}/video`;
  host.respond('/moved', { status: 302, headers: { location }, text: '' });
  for (const url of [`${host.url}/own`, location, `${host.url}/moved`]) {
    assert.equal(await download(url), 'video');
  }
  const keys = (requests: typeof host.requests) =>
    requests.map(({ headers }) => headers.authorization);
  assert.deepEqual(keys(host.requests), [KEY.authorization, KEY.authorization]);
  assert.deepEqual(keys(elsewhere.requests), [undefined, undefined]);
});

test('on OpenRouter’s own host a refused key does not mean that the result is gone', async () => {
  const isGone = (error: unknown) => error instanceof OutputGone;
  for (const [status, gone] of [
    [401, false],
    [403, false],
    [502, false],
    [404, true],
  ] as const) {
    for (const { respond } of [host, elsewhere]) respond('/video', { status, text: '' });
    await assert.rejects(download(`${host.url}/video`), (error) => isGone(error) === gone);
    const goneElsewhere = gone || status < 500;
    const downloading = download(`${elsewhere.url}/video`);
    await assert.rejects(downloading, (error) => isGone(error) === goneElsewhere);
  }
});

const ENDED = { id: ID, status: 'completed' };
const SIGNED = { OPENROUTER_WEBHOOK_SECRET: SIGNING_SECRET };

test('a signed callback names its job; without a secret, it is a hint', async () => {
  const delivery = signedDelivery(ENDED, { signedAt: NOW });
  const report = { kind: 'report', jobId: ID };
  assert.deepEqual(await received(openRouterWith(SIGNED), delivery), { ...report, verified: true });
  assert.deepEqual(await received(openRouterWith(), delivery), { ...report, verified: false });
  assert.equal((await received(openRouterWith(), { ...delivery, body: '7' })).kind, 'forged');
  for (const data of [{ ...ENDED, id: '../x' }, null]) {
    const odd = { body: JSON.stringify({ data }), headers: {} };
    assert.deepEqual(await received(openRouterWith(), odd), {
      kind: 'report',
      jobId: null,
      verified: false,
    });
  }
});

test('a callback is forged if its body, time or signature was changed', async () => {
  const good = signedDelivery(ENDED, { signedAt: NOW });
  const name = 'x-openrouter-signature';
  const signature = good.headers[name] ?? '';
  const bad = [
    { ...good, body: good.body.replace('completed', 'failed') },
    { ...good, headers: {} },
    withHeader(good, name, signature.replace('t=', 't=1')),
    withHeader(good, name, signature.replace('v1=', 'v0=')),
    withHeader(good, name, signature.slice(0, -2)),
    signedDelivery(ENDED, { signedAt: NOW, forged: true }),
    signedDelivery(ENDED, { signedAt: NOW - 301_000 }),
  ];
  for (const delivery of bad) {
    const callback = await received(openRouterWith(SIGNED), delivery);
    assert.equal(callback.kind, 'forged', JSON.stringify(delivery));
  }
});
