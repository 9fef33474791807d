import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, test } from 'node:test';
import { Framewright } from '@framewright/client';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { fromJsonSchema, type JsonSchemaType } from '@modelcontextprotocol/server';
import { createAccount } from '../../../server/src/accounts/accounts.ts';
import { createKey } from '../../../server/src/accounts/api-keys.ts';
import { testErrorCases } from '../../../server/test/clients/error-cases.ts';
import { longTest } from '../../../server/test/long.ts';
import { imageBytes, openMediaFixture } from '../../../server/test/media/media-fixture.ts';
import { sql } from '../../../server/test/task-fixtures.ts';
import { temporaryFolder } from '../../../server/test/temporary-folder.ts';
import type { Session } from '../src/generate.ts';
import { createServer } from '../src/tools.ts';
import { type ClientOptions, connectOverHttp, connectOverStdio, MAIN } from './connect.ts';

const MODERN = '2026-07-28';

const fixture = await openMediaFixture();
const { db } = fixture;
const accountId = await createAccount(db, 'ada@example.com');
after(() => fixture.close());

/** An API key of its own, because each may send only 30 requests a minute. */
const newApiKey = async () => (await createKey(db, { accountId, mode: 'test' })).secret;
const apiKey = await newApiKey();

const disposable = (client: Client) =>
  Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });

async function overHttp(key?: string, options: ClientOptions = {}) {
  return disposable(
    await connectOverHttp(`${fixture.url}/mcp`, key ?? (await newApiKey()), options),
  );
}

async function overStdio(...args: string[]) {
  const env = {
    FRAMEWRIGHT_API_KEY: await newApiKey(),
    FRAMEWRIGHT_BASE_URL: `${fixture.url}/api/v1`,
  };
  return disposable(await connectOverStdio(env, args));
}

interface Reply {
  isError?: boolean;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into data of every shape
  data: any;
}

async function call(client: Client, name: string, input: object): Promise<Reply> {
  const result = await client.callTool({ name, arguments: { ...input } });
  const [first] = result.content;
  assert.equal(first?.type, 'text');
  const { isError = false, structuredContent: data } = result;
  return { isError, text: first?.type === 'text' ? first.text : '', data };
}

const creditsOf = async (client: Client): Promise<number> =>
  (await call(client, 'get_credits', {})).data.available_credits;

for (const [title, options] of [
  ['of 2025', {}],
  [`of ${MODERN}`, { versionNegotiation: { mode: { pin: MODERN } } }],
] as [string, ClientOptions][]) {
  test(`a client ${title} needs the URL and a key: a video is charged once`, async () => {
    await using client = await overHttp(undefined, options);
    const { tools } = await client.listTools();
    const videos = 'generate_video get_video list_videos quote_video';
    const names = tools.map(({ name }) => name).join(' ');
    assert.equal(names, `${videos} list_models cancel_video get_credits`);
    // From here on, the client compares the data of each result with the schema of its tool.
    assert.ok(tools.every(({ outputSchema }) => outputSchema?.properties));
    const before = await creditsOf(client);
    const input = { prompt: 'A paper boat', request_id: `boat-${title.replaceAll(' ', '-')}` };
    const quote = await call(client, 'quote_video', { prompt: input.prompt });
    const made = await call(client, 'generate_video', input);
    assert.equal(made.isError, false, made.text);
    assert.equal(made.data.status, 'completed');
    const again = await call(client, 'generate_video', input);
    assert.equal(again.data.id, made.data.id);
    const read = await call(client, 'get_video', { task_id: made.data.id });
    assert.ok((await fetch(read.data.output.video_url)).ok);
    const listed = await call(client, 'list_videos', { limit: 1 });
    assert.equal(listed.data.data[0].id, made.data.id);
    assert.equal(before - (await creditsOf(client)), quote.data.credits);
  });
}

test('what fails says what was charged and what to do, and shows no API key', async () => {
  await using client = await overHttp(apiKey);
  const input = (word: string) => ({ prompt: `A boat, ${word}`, request_id: `fails-${word}` });
  const failed = await call(client, 'generate_video', input('test-failed'));
  assert.deepEqual(
    [failed.isError, failed.data.charged, failed.data.retry, failed.data.error.code],
    [true, 'refunded', 'new_key', 'provider_failed'],
  );
  const refused = await call(client, 'generate_video', input('test-refused'));
  assert.deepEqual([refused.isError, refused.data.charged], [true, 'refunded']);
  assert.match(refused.text, /Charged: nothing.*new request_id/s);
  const poor = await call(client, 'generate_video', input('test-insufficient-credits'));
  assert.deepEqual([poor.data.code, poor.data.charged], ['insufficient_credits', 'no']);
  assert.equal(poor.data.credits, 250);
  assert.match(poor.text, /It costs 250 credits/);
  const most = await call(client, 'generate_video', { ...input('test-failed'), max_credits: 1 });
  const unknown = await call(client, 'get_video', { task_id: 'task_unknown' });
  assert.deepEqual([unknown.isError, unknown.data.code], [true, 'not_found']);
  assert.match(unknown.text, /Do not call again unchanged.* stays charged: never start it again/);
  assert.doesNotMatch(unknown.text, /nothing|same request_id/);
  // Some clients compare the data of an error with the schema of the tool, and show nothing else.
  const { tools } = await client.listTools();
  for (const [name, reply] of [
    ...[failed, refused, poor, most].map((one) => ['generate_video', one] as const),
    ['get_video', unknown] as const,
  ]) {
    const schema = tools.find((tool) => tool.name === name)?.outputSchema;
    const { issues } = await fromJsonSchema(schema as JsonSchemaType)['~standard'].validate(
      reply.data,
    );
    assert.equal(issues, undefined, reply.text);
    assert.ok(!JSON.stringify(reply).includes(apiKey), reply.text);
  }
});

longTest('over HTTP no text is read as a path of the service', async () => {
  await using client = await overHttp();
  const input = { mode: 'image-to-video', prompt: 'A boat', request_id: 'from-file' };
  for (const image_url of ['/etc/hostname', 'package.json', 'file:///etc/hostname']) {
    const refused = await call(client, 'generate_video', { ...input, image_url });
    assert.equal(refused.isError, true, image_url);
    assert.equal(refused.data?.code ?? 'invalid_request', 'invalid_request', refused.text);
  }
  // The schema takes this for an address; the client alone would read it as a path.
  const refused = await call(client, 'generate_video', { ...input, image_url: 'c:/picture.png' });
  assert.equal(refused.data?.code, 'invalid_request', refused.text);
  assert.deepEqual(await uploadsOf(), []);
});

test('--http serves a client of this machine, and no page of another site', async (t) => {
  const FRAMEWRIGHT_BASE_URL = `${fixture.url}/api/v1`;
  const program = spawn(process.execPath, [MAIN, '--http', '0'], { env: { FRAMEWRIGHT_BASE_URL } });
  t.after(() => program.kill());
  const [line] = await once(program.stderr, 'data');
  const [url = ''] = /http:\S+/.exec(String(line)) ?? [];
  const headers = { authorization: `Bearer ${apiKey}`, origin: 'https://evil.example' };
  assert.equal((await fetch(url, { method: 'POST', headers })).status, 403);
  await using client = disposable(await connectOverHttp(url, await newApiKey()));
  assert.match((await call(client, 'get_credits', {})).text, /credits are available/);
});

test('over stdio, media of the allowed folder are uploaded, and no other file', async () => {
  await using folder = await temporaryFolder();
  const allowed = path.join(folder.path, 'allowed');
  await mkdir(allowed);
  const picture = await imageBytes('png', 864, 496);
  await Promise.all([
    writeFile(path.join(allowed, 'first.png'), picture),
    writeFile(path.join(folder.path, 'private.png'), picture),
    writeFile(path.join(allowed, 'notes.png'), 'The free text of somebody'),
    symlink('/etc/passwd', path.join(allowed, 'linked.png')),
    symlink(folder.path, path.join(allowed, 'up')),
  ]);
  await using client = await overStdio('--files', allowed);
  const refused = ['/etc/passwd', '../private.png', 'up/private.png', 'linked.png', 'notes.png'];
  for (const file of [...refused, 'none.png', '.', `${allowed}/../private.png`]) {
    const reply = await call(client, 'upload_file', { path: file });
    assert.deepEqual([reply.isError, reply.data.code], [true, 'invalid_request'], file);
  }
  assert.deepEqual(await uploadsOf(), []);
  const upload = await call(client, 'upload_file', { path: 'first.png' });
  assert.equal(upload.isError, false, upload.text);
  const input = {
    mode: 'image-to-video',
    prompt: 'It begins to snow',
    image_url: upload.data.url,
    request_id: 'snow-0001',
  };
  const made = await call(client, 'generate_video', input);
  assert.equal(made.data.status, 'completed', made.text);
});

test('without --files no file is uploaded, and the tool says what to set', async () => {
  await using client = await overStdio();
  const reply = await call(client, 'upload_file', { path: '/etc/passwd' });
  assert.equal(reply.isError, true);
  assert.match(reply.text, /--files FOLDER/);
});

const uploadsOf = () => sql(db, "select 1 from stored_objects where role = 'upload'");

test('max_credits refuses a video that costs more, and creates nothing', async () => {
  await using client = await overHttp();
  const request = { prompt: 'A boat', request_id: 'most-0001' };
  const before = await creditsOf(client);
  const refused = await call(client, 'generate_video', { ...request, max_credits: 249 });
  const { code, credits, max_credits, charged, retry } = refused.data;
  assert.deepEqual([code, credits, max_credits], ['max_credits', 250, 249]);
  assert.deepEqual([refused.isError, charged, retry], [true, 'no', 'never']);
  assert.match(refused.text, /costs 250 credits/);
  assert.equal(await creditsOf(client), before);
  const made = await call(client, 'generate_video', { ...request, max_credits: 250 });
  assert.deepEqual([made.isError, made.data.credits_used], [false, 250]);
  assert.match(made.text, /completed, for 250 credits/);
});

test('a client that asks for it is told the progress', async () => {
  await using client = await overHttp();
  const messages: (string | undefined)[] = [];
  const input = { prompt: 'A boat', request_id: 'progress-1' };
  const request = { name: 'generate_video', arguments: input };
  await client.callTool(request, { onprogress: ({ message }) => messages.push(message) });
  assert.match(messages[0] ?? '', /being made/);
});

/** A client of a server in this process. */
async function connectWithin(session: Session) {
  const client = new Client({ name: 'test', version: '1' });
  const [ofServer, ofClient] = InMemoryTransport.createLinkedPair();
  const server = createServer(session);
  await Promise.all([server.connect(ofServer), client.connect(ofClient)]);
  return disposable(client);
}

longTest('a call ends when its time is over, and the video goes on', async () => {
  const api = new Framewright({ apiKey: await newApiKey(), baseUrl: `${fixture.url}/api/v1` });
  await using client = await connectWithin({ client: api, stopping: AbortSignal.timeout(1000) });
  const input = { prompt: 'A boat, test-slow', request_id: 'slow-0001' };
  const reply = await call(client, 'generate_video', input);
  assert.deepEqual([reply.isError, reply.data.status], [false, 'processing']);
  assert.match(reply.text, /250 credits are reserved for it. Call get_video with this task_id/);
  const cancelled = await call(client, 'cancel_video', { task_id: reply.data.id });
  assert.equal(cancelled.data.cancel, 'cancelled', cancelled.text);
});

testErrorCases({
  fixture: () => fixture,
  keyPrefix: 'mcp:',
  // A call has no timeout of its own, and the schema of the tool refuses a wrong field before.
  skips: ({ name, totalTimeoutMs }) => totalTimeoutMs !== undefined || /wrong field/.test(name),
  async open({ options, request, idempotencyKey = 'order-0001' }) {
    const client = await connectWithin({ client: new Framewright(options) });
    return async () => {
      const input = { ...request, request_id: idempotencyKey };
      const { isError, text, data } = await call(client, 'generate_video', input);
      if (!isError) return undefined;
      if (data.charged === 'reserved') assert.doesNotMatch(text, /nothing|Retry: no/);
      const { code = data.error.code, charged, retry, task_id = data.id } = data;
      const { request_id = idempotencyKey } = data; // a task that failed has none
      return { message: text, code, charged, retry, taskId: task_id, idempotencyKey: request_id };
    };
  },
});
