import assert from 'node:assert/strict';
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { after, test } from 'node:test';
import { openMediaFixture } from '../../../test/media/media-fixture.ts';
import { sql } from '../../../test/task-fixtures.ts';
import { createAccount } from '../../accounts/accounts.ts';
import { createKey } from '../../accounts/api-keys.ts';

const ACCEPTED = 'application/json, text/event-stream';
const MODERN = '2026-07-28';

const fixture = await openMediaFixture();
const { db } = fixture;
const accountId = await createAccount(db, 'ada@example.com');
after(() => fixture.close());

/** A key of its own, because a key may send 30 requests a minute. */
async function newApiKey(): Promise<string> {
  return (await createKey(db, { accountId, mode: 'test' })).secret;
}

async function post(key: string, message: object | string | null, headers: object = {}) {
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  const usual = { 'content-type': 'application/json', accept: ACCEPTED };
  const response = await fetch(`${fixture.url}/mcp`, {
    method: 'POST',
    headers: { ...usual, authorization: `Bearer ${key}`, ...headers },
    body,
  });
  const { status, headers: sent } = response;
  return { status, headers: sent, text: await response.text() };
}

const toolCall = (name: string, input: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: input },
});

test('a message that leads to no call of the API is authenticated and counted once, too', async () => {
  const unknown = await newApiKey();
  await sql(db, 'delete from api_keys where id = (select max(id) from api_keys)');
  const messages: [object | string | null, object?][] = [
    [toolCall('no_such_tool', {})],
    [toolCall('get_video', {})],
    [toolCall('get_video', { task_id: '..' })],
    [toolCall('cancel_video', { task_id: '.' })],
    [toolCall('list_models', {})],
    [toolCall('get_credits', {}), { accept: 'text/html' }],
    [toolCall('get_credits', {}), { 'mcp-protocol-version': 'x' }],
    [{ jsonrpc: '2.0', method: 'notifications/initialized' }],
    [{ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: {} }],
    [{ jsonrpc: '2.0', id: 1, method: { toString: 1 } }],
    [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }],
    ...['null', '0', '[]', '{}', '"text"'].map((body): [string] => [body]),
  ];
  const key = await newApiKey();
  for (const [message, headers] of messages) {
    const shown = JSON.stringify([message, headers]);
    assert.ok((await post(key, message, headers)).status < 500, shown);
    const { status, text } = await post(unknown, message, headers);
    assert.equal(status, 401, shown + text);
  }
  const [{ hits = 0 } = {}] = await sql<{ hits: number }>(
    db,
    `select cardinality(hits) as hits from request_windows
     order by subject desc limit 1`,
  );
  assert.equal(hits, messages.length);
});

test('a call beyond the limit of the key is refused at once, alone or in a batch', async () => {
  const batch = Array.from({ length: 50 }, (_, id) =>
    Object.assign(toolCall('get_credits', {}), { id }),
  );
  const start = performance.now();
  const { text } = await post(await newApiKey(), JSON.stringify(batch));
  assert.ok(performance.now() - start < 20_000);
  assert.equal(text.split('credits are available').length - 1, 30);
  assert.equal(text.split('"code":"rate_limited"').length - 1, 20);
  assert.match(text, /The next one passes in \d+ seconds. Call again in \d+ seconds./);
});

test('a request with Connection: close gets a response with Connection: close', async () => {
  const { headers } = await postAs({ connection: 'close' });
  assert.equal(headers.connection, 'close');
  const unknown = await postAs({ connection: 'close', authorization: 'Bearer fw_test_unknown' });
  assert.deepEqual([unknown.statusCode, unknown.headers.connection], [401, 'close']);
});

test('a page of another site is refused, also one whose host name resolves to this server', async () => {
  const { port, origin } = new URL(fixture.url);
  const statusOf = async (headers: OutgoingHttpHeaders) => (await postAs(headers)).statusCode;
  assert.equal(await statusOf({ origin }), 200);
  const rebound = `rebound.example:${port}`;
  assert.equal(await statusOf({ origin: `http://${rebound}`, host: rebound }), 403);
  for (const foreign of ['https://evil.example', 'null', `${origin}.evil.example`, '']) {
    assert.equal(await statusOf({ origin: foreign }), 403, foreign);
  }
});

/** Lists the tools by Node's own client, which sends headers that `fetch` refuses to send. */
async function postAs(headers: OutgoingHttpHeaders, url = `${fixture.url}/mcp`) {
  const own = { 'content-type': 'application/json', accept: ACCEPTED };
  const authorization = `Bearer ${await newApiKey()}`;
  const sent = request(url, { method: 'POST', headers: { ...own, authorization, ...headers } });
  sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }));
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.once('response', resolve).once('error', reject);
  const response = await promise;
  response.resume();
  return response;
}

test('a read that meets the rate limit does not wait within the service', async () => {
  const key = await newApiKey();
  for (let i = 0; i < 29; i++) await post(key, toolCall('get_credits', {}));
  const input = { prompt: 'A boat, test-slow', request_id: 'limited-0001' };
  const start = performance.now();
  const { text } = await post(key, toolCall('generate_video', input));
  assert.ok(performance.now() - start < 10_000);
  assert.match(text, /is still being made.*get_video with this task_id in \d+ seconds/);
  assert.match(text, /"status":"processing".*"retry_after_seconds":\d+/);
});

test('no stream stays open, and HEAD is not served', async () => {
  const key = await newApiKey();
  const params = {
    notifications: { toolsListChanged: true },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  };
  const method = 'subscriptions/listen';
  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': method };
  const { text } = await post(key, { jsonrpc: '2.0', id: 1, method, params }, headers);
  assert.match(text, /[Ss]ubscription limit/);
  const authorization = `Bearer ${key}`;
  const head = await fetch(`${fixture.url}/mcp`, { method: 'HEAD', headers: { authorization } });
  assert.deepEqual([head.status, head.headers.get('allow')], [405, 'POST']);
});
