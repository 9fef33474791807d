import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { openTestApp, type TestCustomer } from '../../../test/app.ts';
import { assertError } from '../../../test/envelope.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { BUILT_IN_MODELS, MODES, RESOLUTIONS } from '../../catalog/models.ts';
import { grant } from '../../ledger/ledger.ts';
import { readTask } from '../../tasks/task.ts';

const api = await openTestApp();
const { db } = api.database;
const customer = await api.customer(10_000_000);

const BODY = { prompt: 'a lighthouse at dawn' };

test('the request is stored as it was sent', async () => {
  const sent = {
    mode: 'media-to-video',
    model: 'video-2.0',
    prompt: ' 😀 "two"\nlines ',
    aspect_ratio: 'adaptive',
    duration: 15,
    resolution: '4k',
    reference_image_urls: ['https://media.example/a.png', 'https://media.example/a.png'],
    reference_video_urls: ['https://media.example/a.mp4'],
    reference_video_durations: [15],
    generate_audio: false,
    seed: 4294967295,
  };
  const { status, body } = await customer.create(sent);
  assert.deepEqual([status, body.credits_used], [202, 30 * 200]);
  const task = await readTask(db, body.id);
  assert.deepEqual(task.request, sent);
  assert.equal(task.seed, 4294967295);
});

test('each URL that is refused without a fetch has its own entry, whichever fault is reported', async () => {
  const good = 'https://media.example/a.png';
  const reference_image_urls = [
    'http://media.example/a.png',
    good,
    'https://media.example/a b',
    'https://127.0.0.1/',
    `${good}?`.padEnd(2049, 'x'),
    7,
  ];
  const reference_video_urls = ['https://me:secret@media.example/a.mp4'];
  const written = { mode: 'media-to-video', reference_image_urls, reference_video_urls };
  const images = 'reference_image_urls';
  const entries = [
    { field: images, index: 0, reason: 'not_https' },
    { field: images, index: 2, reason: 'malformed' },
    { field: images, index: 3, reason: 'not_public' },
    { field: images, index: 4, reason: 'too_long', limit: 2048 },
    { field: images, index: 5, reason: 'wrong_type', type: 'string' },
    { field: 'reference_video_urls', index: 0, reason: 'credentials_in_url' },
  ];
  const inputsFor = async (body: object, details: Record<string, unknown>) => {
    const response = await customer.create({ ...BODY, ...written, ...body });
    assertError(response, 'invalid_request', details);
    const { inputs } = response.body.error.details;
    return inputs.map(({ message, ...entry }: { message: string }) => {
      assert.match(message, /\w/);
      return entry;
    });
  };
  const ofSchema = { field: images, entry: 2, reason: 'malformed' };
  assert.deepEqual(await inputsFor({}, ofSchema), entries);
  const shorter = { reference_image_urls: reference_image_urls.slice(0, 2) };
  const [first, , , , , last] = entries;
  const durations = { reference_video_durations: [2] };
  const ofUrl = { field: images, entry: 0, reason: 'not_https' };
  assert.deepEqual(await inputsFor({ ...shorter, ...durations }, ofUrl), [first, last]);
  const ofPrompt = { field: 'prompt', reason: 'too_short' };
  assert.deepEqual(await inputsFor({ ...shorter, prompt: '' }, ofPrompt), [first, last]);
  const many = { reference_image_urls: Array.from({ length: 1000 }, () => 'http://a.example') };
  const ofMany = { field: images, reason: 'too_many' };
  assert.equal((await inputsFor(many, ofMany)).length, 9, 'only as many as it takes are looked at');
  const noUrls = await customer.create({ ...BODY, duration: 3 });
  assert.equal(noUrls.body.error.details.inputs, undefined);
});

async function quote(body: unknown, by = customer, headers: Record<string, string> = {}) {
  return by.send({
    method: 'POST',
    url: '/api/v1/video/quotes',
    headers: { 'content-type': 'application/json', ...headers },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

async function balance(by: TestCustomer): Promise<number> {
  return (await by.send({ url: '/api/v1/credits' })).body.available_credits;
}

const url = fc.constantFrom(
  'https://media.example/a',
  'http://media.example/a',
  'https://10.0.0.1/',
);
const goodUrl = fc.constant('https://media.example/a');
const urls = (max: number) =>
  fc.array(fc.oneof({ weight: 20, arbitrary: goodUrl }, url), { maxLength: max });
const body = fc.record(
  {
    prompt: fc.constantFrom('a lighthouse', 'no'),
    mode: fc.constantFrom(...MODES),
    model: fc.constantFrom(...BUILT_IN_MODELS),
    resolution: fc.constantFrom(...RESOLUTIONS),
    duration: fc.integer({ min: 3, max: 16 }),
    image_url: url,
    reference_image_urls: urls(2),
    reference_video_urls: urls(3),
    reference_video_durations: fc.array(fc.integer({ min: 2, max: 9 }), { maxLength: 3 }),
  },
  { requiredKeys: ['prompt', 'duration'] },
);
/** Bodies that pass most checks: videos have their durations. */
const likely = fc
  .record({ seconds: fc.array(fc.integer({ min: 2, max: 7 }), { maxLength: 3 }), any: body })
  .map(({ seconds, any: { image_url: _, reference_image_urls: __, ...rest } }) => {
    const { reference_video_urls: ___, reference_video_durations: ____, ...plain } = rest;
    if (seconds.length === 0) return { ...plain, prompt: 'a kite', mode: 'text-to-video' };
    return {
      ...plain,
      prompt: 'a kite',
      mode: 'media-to-video',
      reference_video_urls: seconds.map((second) => `https://media.example/${second}.mp4`),
      reference_video_durations: seconds,
    };
  });

test('for any body, what is quoted is what a create reserves, or the same error', async () => {
  let created = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(likely, body), async (sent) => {
      const before = await balance(customer);
      const quoted = await quote(sent);
      const made = await customer.create(sent);
      if (made.status !== 202) {
        const { charged, retry, ...details } = made.body.error.details;
        assert.deepEqual([charged, retry], ['no', 'never']);
        const error = { ...made.body.error, details };
        assert.deepEqual([quoted.status, quoted.body], [made.status, { error }]);
        return;
      }
      created += 1;
      assert.equal(quoted.status, 200, JSON.stringify(quoted.body));
      const { credits, credits_per_second: rate, output_seconds, reference_seconds } = quoted.body;
      assert.equal(credits, made.body.credits_used);
      assert.equal(credits, before - (await balance(customer)));
      assert.equal(credits, rate * (output_seconds + reference_seconds));
      assert.deepEqual([quoted.body.available_credits, quoted.body.enough], [before, true]);
    }),
    { numRuns: 60 },
  );
  assert.ok(created > 5, `${created} of the bodies were valid`);
});

test('`enough` says whether a create would get a 402, also because of the cap of its key', async () => {
  const poor = await api.customer(249);
  const promotional = { credits: 5000, kind: 'promotional', reference: 'not spent' } as const;
  await grant(db, { accountId: poor.accountId, ...promotional });
  const sent = { prompt: 'a lighthouse' };
  assert.equal((await quote(sent, poor)).body.enough, false);
  assertError(await poor.create(sent), 'insufficient_credits');
  const capped = await api.customer(1000);
  await sql(db, 'update api_keys set monthly_cap = 300 where account_id = $1', [capped.accountId]);
  assert.equal((await quote(sent, capped)).body.enough, true);
  assert.equal((await capped.create(sent)).status, 202);
  const { available_credits, enough } = (await quote(sent, capped)).body;
  assert.deepEqual([available_credits, enough], [750, false]);
  assertError(await capped.create(sent), 'insufficient_credits');
});

test('a quote has the checks of a create before its body, and needs no Idempotency-Key', async () => {
  const details = { field: 'Content-Type', reason: 'not_json' };
  assertError(
    await quote('{}', customer, { 'content-type': 'text/plain' }),
    'invalid_request',
    details,
  );
  assertError(await quote('{', customer), 'invalid_request', { field: 'body', reason: 'not_json' });
  assertError(await quote(`"${'x'.repeat(65_536)}"`), 'payload_too_large');
  assertError(await quote({}, customer, { authorization: '' }), 'unauthorized');
});

test('neither a quote nor a create takes a request that no connection can make', async () => {
  const served = api.deps.routing.connectionsFor;
  api.deps.routing.connectionsFor = ({ resolution }) =>
    resolution === '480p' ? [{ connection: 'local' }] : [];
  try {
    const body = { prompt: 'a lighthouse', resolution: '720p' };
    const create = await customer.create(body);
    for (const response of [await quote(body), create]) {
      const { field, reason } = response.body.error.details;
      assert.deepEqual([response.status, field, reason], [400, 'model', 'not_offered']);
    }
    assert.equal((await quote({ ...body, resolution: '480p' })).status, 200);
  } finally {
    api.deps.routing.connectionsFor = served;
  }
});
