import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { createAccount } from '../../../server/src/accounts/accounts.ts';
import { createKey } from '../../../server/src/accounts/api-keys.ts';
import { type Orders, proveOrders } from '../../../server/test/clients/orders.ts';
import { createTestDatabase } from '../../../server/test/database.ts';
import { longTest } from '../../../server/test/long.ts';
import { imageBytes, openMediaFixture } from '../../../server/test/media/media-fixture.ts';
import { startServiceProcess } from '../../../server/test/service/service-process.ts';
import { temporaryFolder } from '../../../server/test/temporary-folder.ts';
import { closeServer, listenOn } from '../../../simulators/kit/http-server.ts';
import {
  ApiError,
  ConnectionError,
  Framewright,
  type FramewrightOptions,
  RateLimitError,
} from '../src/index.ts';

const fixture = await openMediaFixture({ environment: { RECONCILE_SECONDS: '3600' } });
const accountId = await createAccount(fixture.db, 'ada@example.com');
const { secret } = await createKey(fixture.db, { accountId, mode: 'test' });
const client = new Framewright({ apiKey: secret, baseUrl: `${fixture.url}/api/v1` });
const picture = new Blob([Uint8Array.from(await imageBytes('png'))]);
after(() => fixture.close());

test('a generation is one task with one charge, and its file is whole', async () => {
  await using folder = await temporaryFolder();
  const file = path.join(folder.path, 'video.mp4');
  const seen: string[] = [];
  const request = { prompt: 'A paper boat', mode: 'image-to-video', image_url: picture } as const;
  const video = await client.generate(request, { onProgress: ({ status }) => seen.push(status) });
  await video.download(file);
  const whole = new Uint8Array(await (await fetch(video.url)).arrayBuffer());
  assert.deepEqual(new Uint8Array(await readFile(file)), whole);
  assert.deepEqual([seen.at(0), seen.at(-1)], ['processing', 'completed']);
  const { available_credits } = await client.credits.get();
  assert.equal(available_credits, 100_000 - video.credits_used);
});

test('a file with a key of the caller: a prepared request fits again, another upload never pays', async () => {
  const idempotencyKey = 'order-4711';
  const request = { prompt: 'A paper boat', mode: 'image-to-video', image_url: picture } as const;
  const prepared = await client.videos.prepare(request);
  const first = await client.videos.create(prepared, { idempotencyKey });
  const again = await client.videos.create(prepared, { idempotencyKey });
  assert.equal(again.id, first.id);
  const { available_credits } = await client.credits.get();
  const conflict = { code: 'idempotency_conflict', charged: 'reserved', retry: 'never' };
  await assert.rejects(client.videos.create(request, { idempotencyKey }), conflict);
  assert.deepEqual(await client.credits.get(), { available_credits, balance_type: 'paid' });
  await client.videos.wait(first);
});

test('the list, a quote, a cancel, the models and an upload that is deleted', async () => {
  const listed = await Array.fromAsync(client.videos.list({ limit: 1 }));
  assert.equal(listed.length, 2);
  const quote = await client.videos.quote({ prompt: 'A paper boat', duration: 4 });
  assert.deepEqual([quote.credits, quote.enough], [200, true]);
  const task = await client.videos.create({ prompt: 'A boat, test-slow' });
  const { cancel } = await client.videos.cancel(task.id);
  assert.equal(cancel, 'cancelled');
  assert.ok((await client.models.list()).data.length > 0);
  const { id } = await client.uploads.create(picture);
  for (const _twice of [1, 2]) await client.uploads.delete(id);
  await assert.rejects(client.uploads.delete('obj_none'), { status: 404 });
});

test('no key, one with a line break, and a base URL without its version are refused', () => {
  const apiKey = 'fw_test_any';
  assert.throws(
    () => new Framewright({ baseUrl: 'http://localhost/api/v1' }),
    /FRAMEWRIGHT_API_KEY/,
  );
  assert.throws(() => new Framewright({ apiKey, baseUrl: 'http://localhost' }), /\/api\/v1/);
  const broken = { apiKey: 'fw_test_any\n', baseUrl: 'http://localhost/api/v1' };
  assert.throws(() => new Framewright(broken), { name: 'SettingsError', message: /^((?!fw_).)*$/ });
});

test('a download never joins parts of two files, and reads links of http only', async () => {
  await using folder = await temporaryFolder();
  let tries = 0;
  let second: (response: ServerResponse) => void = () => {};
  await using service = await serveVideo((_request, response) => {
    tries += 1;
    if (tries > 1) return second(response);
    response.setHeader('content-length', 10);
    response.write('first', () => setTimeout(() => response.destroy(), 100));
  });
  const own = clientOfServer(service.url);
  const file = path.join(folder.path, 'video.mp4');
  const part = (range: string) => (response: ServerResponse) => {
    response.writeHead(206, { 'content-range': range, 'content-length': 5 }).end('other');
  };
  for (const respond of [
    (response: ServerResponse) => response.end('a longer video'),
    part('bytes 5-9/11'),
    part('bytes 6-10/10'),
    part('bytes 5-9/*'),
  ]) {
    second = respond;
    tries = 0;
    await assert.rejects(own.videos.download('task_1', file), /has changed/);
  }
  for (const link of ['file:///etc/hostname', 'data:,x']) {
    service.link = link;
    await assert.rejects(own.videos.download('task_1', file), /wrong link/);
  }
  assert.deepEqual(await readdir(folder.path), []);
});

test('a video without Content-Length is whole, also when its lost connection looks like the end', async () => {
  const whole = 'the bytes of a video';
  const rest = (response: ServerResponse, from: number) =>
    response
      .writeHead(206, { 'content-range': `bytes ${from}-${whole.length - 1}/${whole.length}` })
      .end(whole.slice(from));
  const firsts: Record<string, (response: ServerResponse) => void> = {
    'of HTTP/1.0': ({ socket }) => void socket?.end(`HTTP/1.0 200 OK\r\n\r\n${whole.slice(0, 9)}`),
    compressed: (response) =>
      void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(whole)),
  };
  for (const [name, first] of Object.entries(firsts)) {
    await using folder = await temporaryFolder();
    await using service = await serveVideo(({ headers: { range } }, response) =>
      range ? rest(response, Number(/\d+/.exec(range))) : first(response),
    );
    const file = path.join(folder.path, 'video.mp4');
    await clientOfServer(service.url).videos.download('task_1', file);
    assert.equal(await readFile(file, 'utf8'), whole, name);
  }
});

test('a Retry-After of 90 seconds is not cut, and the log has every try but no API key', async () => {
  await using service = await serve((_request, response) => {
    response.writeHead(429, { 'retry-after': '90', 'x-request-id': 'req_1' }).end('{}');
  });
  const lines: string[] = [];
  const controller = new AbortController();
  const debug = (line: string) => {
    lines.push(line);
    if (line.includes('again')) controller.abort();
  };
  const logged = clientOfServer(service.url, { logger: { debug } });
  await assert.rejects(logged.credits.get({ signal: controller.signal }), { name: 'AbortError' });
  assert.match(lines.join('\n'), /^GET \/credits: 429 in \d+ ms req_1\nGET \/credits: again in 90/);
  assert.doesNotMatch(lines.join(), /fw_test/);
});

test('a call has a timeout and retries of its own, the request id, and errors of a class per kind', async () => {
  let tries = 0;
  await using service = await serve((_request, response) => {
    tries += 1;
    if (tries === 1) return; // never responds
    response.writeHead(tries === 2 ? 429 : 200, { 'x-request-id': `req_${tries}` }).end('{"a":1}');
  });
  const own = clientOfServer(service.url);
  const silent = own.credits.get({ timeoutMs: 50, maxRetries: 0 });
  await assert.rejects(silent, { name: 'ConnectionError', message: /timeout of 50 ms/ });
  await assert.rejects(own.credits.get({ maxRetries: 0 }), (error) => {
    return error instanceof RateLimitError && error instanceof ApiError;
  });
  const result = await own.request('GET', '/credits');
  assert.deepEqual([result, result.requestId], [{ a: 1 }, 'req_3']);
});

test('a POST without a key is sent again only if it certainly did nothing', async () => {
  const refused = Object.assign(new Error('refused'), { syscall: 'connect' });
  const outcomes = [
    async () => new Response('', { status: 429 }),
    () => Promise.reject(new TypeError('fetch failed', { cause: refused })),
    () => Promise.reject(new TypeError('terminated')),
    async () => new Response('', { status: 503 }),
  ];
  let sent = 0;
  const faulty = new Framewright({
    apiKey: 'fw_test_x',
    baseUrl: 'http://127.0.0.1:9/api/v1',
    fetch: () => outcomes[sent++]?.() ?? assert.fail('sent again'),
  });
  const post = () => faulty.request('POST', '/webhooks', { body: {} });
  await assert.rejects(post, { code: 'no_response' });
  assert.equal(sent, 3);
  await assert.rejects(post, { status: 503 });
  assert.equal(sent, 4);
});

longTest('a wait outlives a service that is killed and started again', async () => {
  await using folder = await temporaryFolder();
  const database = await createTestDatabase();
  await using _ = { [Symbol.asyncDispose]: () => database.close() };
  const accountId = await createAccount(database.db, 'ada@example.com');
  const { secret: apiKey } = await createKey(database.db, { accountId, mode: 'test' });
  const variables = { DATABASE_URL: database.url, DATA_DIR: folder.path };
  await using first = await startServiceProcess(variables);
  const patient = new Framewright({ apiKey, baseUrl: `${first.url}/api/v1`, maxRetries: 1 });
  const created = Promise.withResolvers<void>();
  const onProgress = () => created.resolve();
  const made = patient.generate({ prompt: 'A paper boat' }, { onProgress });
  await created.promise;
  await first.kill('SIGKILL');
  const PORT = new URL(first.url).port;
  await using _second = await startServiceProcess((ports) => ({ ...ports, ...variables, PORT }));
  assert.equal((await made).status, 'completed');
});

longTest('with faults and kills, each order is one task, one charge and one whole file', (t) => {
  const program = fileURLToPath(new URL('generate-many.ts', import.meta.url));
  const start = ({ folder, first, last }: Orders) => ({
    command: process.execPath,
    args: [program, folder, `${first}`, `${last}`],
  });
  return proveOrders(fixture, t, [start, start]);
});

async function serve(listener: RequestListener) {
  const server = createServer(listener);
  const url = await listenOn(server);
  return { url, [Symbol.asyncDispose]: () => closeServer(server) };
}

/** A service with one completed task, whose video is served by `video`. */
async function serveVideo(video: RequestListener) {
  const service = await serve((request, response) => {
    if (request.url === '/video') return video(request, response);
    const video_url = new URL(opened.link, opened.url).href;
    response.end(JSON.stringify({ status: 'completed', output: { video_url } }));
  });
  const opened = { ...service, link: '/video' };
  return opened;
}

const clientOfServer = (url: string, options: FramewrightOptions = {}) =>
  new Framewright({ apiKey: 'fw_test_x', baseUrl: `${url}/api/v1`, ...options });

/** A client of something that is not the service. */
function clientOfOther(status: number, body: unknown): Framewright {
  const fetch = async () => Response.json(body, { status });
  const baseUrl = 'http://localhost/api/v1';
  return new Framewright({ apiKey: 'fw_test_0', baseUrl, fetch, maxRetries: 0 });
}

test('only files whose seconds are not given get those that were measured', async () => {
  const file = new Blob(['....ftyp']);
  const own = clientOfOther(201, { url: 'https://v.example/file', duration_seconds: 2.4 });
  const prepare = async (videos: (string | Blob)[], seconds?: (number | null)[]) => {
    const request = { reference_video_urls: videos, reference_video_durations: seconds };
    return (await own.videos.prepare({ prompt: 'A boat', ...request })).reference_video_durations;
  };
  assert.deepEqual(await prepare([file, file]), [2, 2]);
  assert.deepEqual(await prepare(['https://v.example/a', file], [5, null]), [5, 2]);
  assert.deepEqual(await prepare([file], [3]), [3]);
  assert.deepEqual(await prepare(['https://v.example/a', file]), [2]);
  assert.equal(await prepare(['https://v.example/a']), undefined);
});

test('a response that is no JSON object is a lost response', async () => {
  for (const body of [null, 5, 'text', []]) {
    await assert.rejects(clientOfOther(200, body).credits.get(), ConnectionError);
    const creating = clientOfOther(202, body).videos.create({ prompt: 'A boat' });
    await assert.rejects(creating, { name: 'ConnectionError', charged: 'reserved' });
  }
});

test('an error has only members of their types', async () => {
  for (const error of [null, 5, 'text', { code: 5, message: {}, details: null }]) {
    await assert.rejects(clientOfOther(400, { error }).credits.get(), {
      name: 'InvalidRequestError',
      message: 'GET /credits: HTTP 400',
      code: 'unknown',
      details: {},
    });
  }
});
