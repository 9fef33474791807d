import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Value } from 'typebox/value';
import { resolved } from '../../../../console/docs/openapi.ts';
import { openTestApp } from '../../../test/app.ts';
import { catalogWith, NOVA } from '../../../test/catalogs.ts';
import { assertError } from '../../../test/envelope.ts';
import { BUILT_IN_MODELS } from '../../catalog/models.ts';

let catalog = catalogWith(NOVA);
let nowMs = Date.now();
const api = await openTestApp({ catalog: { current: () => catalog }, now: () => nowMs });
const customer = await api.customer(1_000_000);

const BODY = { prompt: 'a kite', model: NOVA.name, resolution: '480p' };
const FROM = Number(NOVA.prices[1]?.from);

const read = async (url: string) => (await api.app.inject(url)).json();
const quote = async (body: object) =>
  customer.send({
    method: 'POST',
    url: '/api/v1/video/quotes',
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify(body),
  });

test('an added model is created, quoted, listed and described with what it offers', async () => {
  const created = await customer.create(BODY);
  const shown = [created.status, created.body.model, created.body.credits_used];
  assert.deepEqual(shown, [202, NOVA.name, 35]);
  assert.equal((await quote(BODY)).body.credits_per_second, 7);
  const models = await read('/api/v1/models');
  assert.deepEqual(models.data.at(-1), {
    id: NOVA.name,
    title: 'Nova',
    modes: NOVA.modes,
    durations: [5, 10],
    aspect_ratios: ['16:9', '9:16'],
    audio: false,
    seed: false,
    resolutions: ['480p'],
    credits_per_second: { standard: { '480p': 7 }, referenced: {} },
    next_price: {
      from: new Date(FROM).toISOString(),
      credits_per_second: {
        standard: { '480p': 8, '720p': 16 },
        referenced: { '480p': 3, '720p': 6 },
      },
    },
  });
  const document = await read('/openapi.json');
  const { paths, components } = resolved(document, document);
  const names = [...BUILT_IN_MODELS, NOVA.name];
  assert.deepEqual(components.schemas.VideoRequest.properties.model.enum, names);
  assert.equal(components.schemas.VideoTask.properties.model.enum, undefined);
  const { schema } = paths['/api/v1/models'].get.responses['200'].content['application/json'];
  assert.deepEqual(Value.Errors(schema, models), []);
});

test('from the moment of a new price, creates and quotes have it', async (t) => {
  t.after(() => (nowMs = Date.now()));
  const version = (await read('/api/v1/models')).price_version;
  for (const [ms, credits] of [
    [FROM - 1, 35],
    [FROM, 40],
  ] as const) {
    nowMs = ms;
    assert.equal((await customer.create(BODY)).body.credits_used, credits);
    assert.equal((await quote(BODY)).body.credits, credits);
  }
  const models = await read('/api/v1/models');
  assert.equal(models.price_version, version + 1);
  assert.equal(models.data.at(-1).next_price, undefined);
});

test('a hidden model can be named, and no list, description or error names it', async (t) => {
  t.after(() => (catalog = catalogWith(NOVA)));
  catalog = catalogWith({ ...NOVA, state: 'hidden' });
  const created = await customer.create(BODY);
  assert.equal(created.status, 202);
  const answers = await Promise.all([
    read('/api/v1/models'),
    read('/openapi.json'),
    customer.create({ ...BODY, model: 'nova-2' }),
    quote({ ...BODY, model: 'nova-2' }),
    customer.send({ url: '/api/v1/tasks?model=nova-2' }),
  ]);
  for (const answer of answers) assert.doesNotMatch(JSON.stringify(answer), /nova-1/);
  const details = { field: 'model', reason: 'not_one_of', allowedValues: [...BUILT_IN_MODELS] };
  assertError(await quote({ ...BODY, model: 'nova-2' }), 'invalid_request', details);
  const listed = await customer.send({ url: `/api/v1/tasks?model=${NOVA.name}` });
  assert.equal(listed.body.data[0].id, created.body.id);
});

test('a retired model is refused like an unknown one; its tasks and keys stay', async (t) => {
  t.after(() => (catalog = catalogWith(NOVA)));
  const key = { 'idempotency-key': 'before' };
  const { body: task } = await customer.create(BODY, key);
  catalog = catalogWith({ ...NOVA, state: 'retired' });
  const refused = (await customer.create(BODY)).body.error;
  const unknown = (await customer.create({ ...BODY, model: 'nova-2' })).body.error;
  assert.deepEqual(refused, unknown);
  assert.equal(refused.message, `model must be one of ${BUILT_IN_MODELS.join(', ')}.`);
  assert.deepEqual((await quote(BODY)).status, 400);
  assert.equal((await customer.create(BODY, key)).body.id, task.id);
  assert.equal((await customer.send({ url: `/api/v1/tasks/${task.id}` })).body.model, NOVA.name);
});
