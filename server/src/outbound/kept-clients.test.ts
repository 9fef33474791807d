import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, test } from 'node:test';
import { startMediaHost } from '../../test/media/media-host.ts';
import { TEST_CA_FILE } from '../../test/tls/certificates.ts';
import { until } from '../../test/until.ts';
import { parseAllowList } from './addresses.ts';
import { ByteBudget } from './byte-budget.ts';
import { type CallOutcome, createKeptCalls } from './call.ts';
import { createGuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts';

let server: Server;
let sockets: Socket[];
let respond: (response: ServerResponse, path: string) => void;

beforeEach(async () => {
  sockets = [];
  respond = (response, path) => response.end(path);
  server = createServer((request, response) => respond(response, request.url ?? ''));
  server.on('connection', (socket) => sockets.push(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

type Calls = ReturnType<typeof createKeptCalls>;

function read(call: Calls, path: string, timeoutSeconds = 5): Promise<CallOutcome> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  return call({ url, method: 'GET', headers: {}, timeoutSeconds, maxResponseBytes: 100 });
}

async function textOf(outcome: Promise<CallOutcome>): Promise<string> {
  const response = await outcome;
  if (response.kind !== 'responded') assert.fail(JSON.stringify(response));
  return Buffer.from(response.body).toString();
}

test('calls that follow each other share a connection; those at the same time do not', async () => {
  const call = createKeptCalls();
  for (const path of ['/a', '/b', '/c']) assert.equal(await textOf(read(call, path)), path);
  assert.equal(sockets.length, 1);
  const both = await Promise.all([textOf(read(call, '/d')), textOf(read(call, '/e'))]);
  assert.deepEqual(both, ['/d', '/e']);
  assert.equal(sockets.length, 2);
});

test('a call whose kept connection the host closes is made again on a new one', async () => {
  const call = createKeptCalls();
  await textOf(read(call, '/a'));
  respond = (response, path) => {
    respond = (second) => second.end('again');
    response.socket?.destroy();
    assert.equal(path, '/b');
  };
  assert.equal(await textOf(read(call, '/b')), 'again');
  assert.equal(sockets.length, 2);
});

test('a call on a new connection is made once', async () => {
  let requests = 0;
  respond = (response) => {
    requests += 1;
    response.socket?.destroy();
  };
  assert.equal((await read(createKeptCalls(), '/a')).kind, 'unknown');
  assert.equal(requests, 1);
});

test('a call ends at its deadline, also on a kept connection, and is not made again', async () => {
  const call = createKeptCalls();
  await textOf(read(call, '/a'));
  let requests = 0;
  respond = () => {
    requests += 1;
  };
  const outcome = await read(call, '/b', 0.1);
  assert.deepEqual(outcome, { kind: 'unknown', cause: 'no complete response within 0.1 s' });
  assert.equal(requests, 1);
});

test('a body that is too large is a failure, and its connection is closed', async () => {
  const call = createKeptCalls();
  respond = (response) => response.end('x'.repeat(101));
  const outcome = await read(call, '/a');
  assert.deepEqual(outcome, {
    kind: 'unknown',
    cause: 'HTTP 200, but its body is larger than 100 bytes',
  });
  await until(async () => sockets.every(({ destroyed }) => destroyed), Boolean);
});

async function downloads(
  t: { after(work: () => unknown): void },
  options: Partial<GuardedFetchOptions> = {},
) {
  const host = await startMediaHost();
  const allow = parseAllowList(`127.0.0.1:${host.port},localhost:${host.port}`);
  const through = createGuardedFetch({
    allow,
    ca: await readFile(TEST_CA_FILE, 'utf8'),
    ...options,
  });
  t.after(async () => {
    await through.close();
    await host.close();
  });
  host.serve('/a', { kind: 'bytes', bytes: Buffer.from('a video') });
  const get = async (url: string, keepsConnection = true) => {
    const budget = new ByteBudget(1000);
    const body = await through.download(url, { budget, keepsConnection });
    return Buffer.concat(await Array.fromAsync(body)).toString();
  };
  return { host, through, get };
}

test('downloads that may keep their connection share one; the others have their own', async (t) => {
  const { host, get } = await downloads(t);
  for (let n = 0; n < 3; n += 1) assert.equal(await get(host.url('/a')), 'a video');
  assert.equal(host.connectionCount(), 1);
  assert.equal(await get(host.url('/a'), false), 'a video');
  assert.equal(host.connectionCount(), 2);
  assert.equal(host.requests.at(-1)?.headers.connection, 'close');
});

test('a kept connection is not used when the host name has another address now', async (t) => {
  const addresses = ['127.0.0.1', '127.0.0.1', '10.0.0.1'];
  const resolve = async () => [{ address: addresses.shift() ?? '10.0.0.1', family: 4 }];
  const { host, get } = await downloads(t, { resolve });
  for (let n = 0; n < 2; n += 1) await get(host.url('/a', 'media.test'));
  assert.equal(host.connectionCount(), 1);
  await assert.rejects(get(host.url('/a', 'media.test')), { reason: 'not_public' });
});

test('a download whose kept connection the host cuts is made again, once', async (t) => {
  const { host, get } = await downloads(t);
  await get(host.url('/a'));
  host.serve('/a', { kind: 'raw', text: '' });
  await assert.rejects(get(host.url('/a')), { reason: 'not_reachable' });
  assert.equal(host.requests.length, 3);
  assert.equal(host.connectionCount(), 2);
});

test('a body that is left early closes its connection, and a close ends the idle ones', async (t) => {
  const { host, through, get } = await downloads(t);
  host.serve('/endless', { kind: 'endless' });
  const budget = new ByteBudget(2 ** 30);
  const body = await through.download(host.url('/endless'), { budget, keepsConnection: true });
  for await (const _ of body) break;
  await host.idle();
  await get(host.url('/a'));
  await through.close();
  await host.idle();
});
