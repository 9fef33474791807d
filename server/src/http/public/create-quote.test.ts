import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import * as fc from 'fast-check';
import { openTestApp, type TestCustomer } from '../../../test/app.ts';
import { assertError } from '../../../test/envelope.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { BUILT_IN_MODELS, MODES, RESOLUTIONS } from '../../catalog/models.ts';
import { grant } from '../../ledger/ledger.ts';

const api = await openTestApp();
const customer = await api.customer(10_000_000);
after(() => api.close());

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

test('enough says whether a create would get a 402, also because of the cap of its key', async () => {
  const poor = await api.customer(249);
  const promotional = { credits: 5000, kind: 'promotional', reference: 'not spent' } as const;
  await grant(api.database.db, { accountId: poor.accountId, ...promotional });
  const sent = { prompt: 'a lighthouse' };
  assert.equal((await quote(sent, poor)).body.enough, false);
  assertError(await poor.create(sent), 'insufficient_credits');
  const capped = await api.customer(1000);
  await sql(api.database.db, 'update api_keys set monthly_cap = 300 where account_id = $1', [
    capped.accountId,
  ]);
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
  api.deps.routing.connectionsFor = ({ resolution }) => (resolution === '480p' ? ['local'] : []);
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
