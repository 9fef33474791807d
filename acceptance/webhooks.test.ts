import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { assertCommonHeaders, assertError, assertVideoTask } from './assertions.ts';
import { type ApiResponse, needs, send } from './deployment.ts';
import { call, createTest, inTestMode, testKey, waitForEnd } from './test-mode.ts';

// The suite receives events over HTTP, and checks them with the official package of Standard Webhooks.

const options = { ...inTestMode, skip: inTestMode.skip || needs('FRAMEWRIGHT_RECEIVER') };
const base = process.env.FRAMEWRIGHT_RECEIVER?.replace(/\/+$/, '') ?? '';
const key = testKey(4);

interface Arrived {
  path: string;
  /** Of the event. */
  id: string;
  headers: IncomingHttpHeaders;
  body: string;
}

const arrived: Arrived[] = [];
let arrival = Promise.withResolvers<void>();

const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const path = request.url?.split('/').at(-1) ?? '';
  const id = String(request.headers['webhook-id']);
  const isFirst = !arrived.some((one) => one.path === path && one.id === id);
  arrived.push({ path, id, headers: request.headers, body: Buffer.concat(chunks).toString() });
  response.writeHead(path === 'fails-first' && isFirst ? 500 : 204).end();
  arrival.resolve();
  arrival = Promise.withResolvers();
});

/**
 * The POSTs to an endpoint whose body or id has this text, as soon as there are so many. Other test
 * files of the suite cause events too.
 */
async function received(path: string, text: string, count: number): Promise<Arrived[]> {
  for (;;) {
    const found = arrived.filter(
      (one) => one.path === path && (one.id === text || one.body.includes(text)),
    );
    if (found.length >= count) return found;
    await arrival.promise;
  }
}

/** The event, if the official package accepts its signature. */
// biome-ignore lint/suspicious/noExplicitAny: a black-box suite looks into bodies of every shape
function verified({ headers, body }: Arrived, secret: string): any {
  const texts = Object.entries(headers).map(([name, value]) => [name, String(value)]);
  return new Webhook(secret).verify(body, Object.fromEntries(texts));
}

const made: string[] = [];

/** An endpoint of the receiver; a path of its own tells its events apart. */
async function endpoint(path: string, events = ['task.completed']): Promise<ApiResponse> {
  const body = { url: `${base}/${path}`, events, description: 'acceptance' };
  const response = await call('POST', '/webhooks', { key, body });
  assert.equal(response.status, 201, JSON.stringify(response.body));
  made.push(response.body.id);
  return response;
}

if (options.skip === false) {
  before(async () => {
    receiver.listen(Number(process.env.FRAMEWRIGHT_RECEIVER_PORT ?? 8787));
    await once(receiver, 'listening');
  });
  after(async () => {
    for (const id of made) await call('DELETE', `/webhooks/${id}`, { key });
    receiver.close();
    receiver.closeAllConnections();
  });
}

test('the end of a task arrives once for each endpoint that chose it', options, async () => {
  const { secret, id, ...shown } = (await endpoint('completed')).body;
  assert.deepEqual([shown.mode, shown.events], ['test', ['task.completed']]);
  await endpoint('others', ['task.failed', 'task.held']);
  const task = (await createTest('', { key })).body;
  const [first] = await received('completed', task.id, 1);
  assert.ok(first);
  const event = verified(first, secret);
  assert.deepEqual([event.type, event.mode], ['task.completed', 'test']);
  const { body: document } = await send(`${process.env.FRAMEWRIGHT_URL}/openapi.json`);
  const { required } = document.components.schemas.TaskEvent;
  assert.deepEqual(Object.keys(event).sort(), required.toSorted(), 'as openapi.json has it');
  assert.ok(Math.abs(Date.parse(event.timestamp) - Date.now()) < 60_000);
  const { status, headers, body } = await waitForEnd(task.id, key);
  assertVideoTask({ status, headers, body: event.data });
  assert.deepEqual({ ...event.data, output: null }, { ...body, output: null });
  assert.equal((await fetch(event.data.output.video_url)).status, 200);
  assert.throws(() => verified({ ...first, body: first.body.replace('test', 'live') }, secret));
  assertError(await send(`/webhooks/${id}`), 'not_found');
});

test('a held task is an event, and its failure the next one', options, async () => {
  const { secret } = (await endpoint('held', ['task.held', 'task.failed'])).body;
  const held = await createTest('test-held-refused', { key });
  const { task_id: id } = held.body.error.details;
  const events = (await received('held', id, 2)).map((one) => verified(one, secret));
  const dataOf = (type: string) => events.find((event) => event.type === type)?.data;
  assert.equal(dataOf('task.held').status, 'processing');
  assert.equal(dataOf('task.failed').error.code, 'not_accepted');
  await received('others', id, 2);
  assert.ok(!arrived.some(({ path, body }) => path === 'others' && /task\.completed/.test(body)));
});

test(
  'a delivery that failed comes again with the same id, and the log has both',
  options,
  async () => {
    const { secret, id } = (await endpoint('fails-first')).body;
    const { event_id } = (await call('POST', `/webhooks/${id}/test`, { key })).body;
    const tries = await received('fails-first', event_id, 2);
    assert.deepEqual(
      tries.map((one) => [one.headers['webhook-id'], verified(one, secret).type]),
      [
        [event_id, 'webhook.test'],
        [event_id, 'webhook.test'],
      ],
    );
    const log = await logged(id, event_id, 'delivered');
    const statuses = log.attempts.map(({ status }: { status: number }) => status);
    assert.deepEqual([statuses[0], statuses.at(-1)], [500, 204], statuses.join());
    await call('POST', `/webhooks/${id}/deliveries/${event_id}/send`, { key });
    const [, , again] = await received('fails-first', event_id, 3);
    assert.equal(again?.headers['webhook-id'], event_id);
  },
);

test('a new secret signs beside the one before', options, async () => {
  const { secret, id } = (await endpoint('secret')).body;
  const replaced = await call('POST', `/webhooks/${id}/secret`, { key });
  assert.notEqual(replaced.body.secret, secret);
  await call('POST', `/webhooks/${id}/test`, { key });
  const [event] = await received('secret', 'webhook.test', 1);
  assert.ok(event);
  for (const one of [secret, replaced.body.secret]) {
    assert.equal(verified(event, one).data.message.length > 0, true);
  }
});

test('an endpoint is changed, disabled and deleted', options, async () => {
  const { id } = (await endpoint('changed')).body;
  const list = await send('/webhooks', { key });
  assertCommonHeaders(list);
  const found = list.body.data.find((one: { id: string }) => one.id === id);
  assert.equal(found.url, `${base}/changed`);
  assert.equal('secret' in found, false);
  const change = { events: ['task.failed'], enabled: false };
  const changed = await call('PATCH', `/webhooks/${id}`, { key, body: change });
  assert.deepEqual(changed.body.events, ['task.failed']);
  assert.equal(changed.body.disabled_because, 'owner');
  assertError(await call('POST', `/webhooks/${id}/test`, { key }), 'invalid_request', 'id');
  assert.equal((await call('DELETE', `/webhooks/${id}`, { key })).status, 204);
  assertError(await send(`/webhooks/${id}`, { key }), 'not_found');
});

test('an endpoint must be public, and its events known', inTestMode, async () => {
  const refused = (body: object) => call('POST', '/webhooks', { key, body });
  const url = 'https://example.com/hook';
  const events = ['task.completed'];
  assertError(await refused({ url: 'https://10.0.0.1/hook', events }), 'invalid_request', 'url');
  assertError(await refused({ url, events: ['task.began'] }), 'invalid_request', 'events');
});

/** A delivery in the log of an endpoint, once it has this state. */
async function logged(id: string, eventId: string, state: string) {
  for (;;) {
    const { body } = await send(`/webhooks/${id}/deliveries`, { key });
    const delivery = body.data.find((one: { event_id: string }) => one.event_id === eventId);
    if (delivery.state === state) return delivery;
    await delay(300);
  }
}
