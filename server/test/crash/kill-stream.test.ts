import assert from 'node:assert/strict';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { openEmbeddedDatabase } from 'embedded-postgres';
import { createKey } from '../../src/accounts/api-keys.ts';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { client, SMALLEST } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { quiet } from '../database.ts';
import { LONG } from '../long.ts';
import { imageBytes } from '../media/media-fixture.ts';
import { startMediaHost } from '../media/media-host.ts';
import {
  assertBalance,
  assertOneVideo,
  assertTidyObjects,
  tasksOfKey,
} from '../service/end-state.ts';
import {
  runOperatorCommand,
  type ServiceProcess,
  startServiceProcess,
} from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { VIDEO_CREDITS } from './crash-fixture.ts';

/** Each kill also ends the embedded database, since no other process uses it. */
const KILLS = LONG ? 20 : 1;
/** Clients at a time, each with one request in flight. */
const CLIENTS = 2;
const ENOUGH_CREDITS = 100_000;

interface Stream {
  /** Where the service is now; a promise while it is down. */
  service: Promise<ServiceProcess>;
  accountId: string;
  secrets: string[];
  imageUrl: string;
  /** The task in the 200 or 202 of each Idempotency-Key. */
  tasksByKey: Map<string, string>;
  /** The body that each key was sent with. */
  bodies: Map<string, object>;
  isOver: boolean;
}

/** Sends one request after the other, each with the same key until a response names its task. */
async function sendRequests(stream: Stream, secret: string): Promise<void> {
  for (let count = 0; !stream.isOver; count += 1) {
    const key = `stream-${crypto.randomUUID()}`;
    stream.bodies.set(key, bodyOf(key, count % 2 === 0 ? stream.imageUrl : undefined));
    const task = await until(
      () => tryOnce(stream, secret, key),
      (body) => body !== undefined,
      120, // a full rate window may take half of it
    );
    stream.tasksByKey.set(key, task.id);
  }
}

/** @returns the task of a 200 or 202; undefined when the service was down, busy, or over its rate */
async function tryOnce(stream: Stream, secret: string, key: string) {
  const { url } = await stream.service;
  const response = await client(url, secret)
    .create(stream.bodies.get(key), key)
    .catch(() => undefined);
  if (!response || response.status === 503 || response.status === 429) return undefined;
  assert.ok(response.status === 200 || response.status === 202, JSON.stringify(response.body));
  return response.body;
}

function bodyOf(key: string, imageUrl: string | undefined): object {
  return {
    ...SMALLEST,
    prompt: `A clock, ${key}`,
    ...(imageUrl === undefined ? {} : { mode: 'image-to-video', image_url: imageUrl }),
  };
}

/** Kills the service KILLS times: after a response, or while it fetches a client's picture. */
async function killRepeatedly(
  stream: Stream,
  seen: () => number,
  start: () => Promise<ServiceProcess>,
): Promise<void> {
  for (let kill = 0; kill < KILLS; kill += 1) {
    const service = await stream.service;
    const count = kill % 2 === 0 ? () => stream.tasksByKey.size : seen;
    const wanted = count() + 1 + (kill % 3);
    await until(async () => count() >= wanted);
    await service.kill('SIGKILL');
    stream.service = start();
  }
}

async function openServiceDatabase(dataDir: string) {
  const embedded = await openEmbeddedDatabase({ dataDir, log: quiet });
  const db = openDatabase({ url: embedded.url, connections: 4, log: quiet });
  return {
    db,
    async [Symbol.asyncDispose]() {
      await db.close();
      await embedded.close();
    },
  };
}

async function makeSecrets(dataDir: string) {
  await using opened = await openServiceDatabase(dataDir);
  const { accountId, secret } = await makeCustomer(opened.db, ENOUGH_CREDITS);
  const more = Array.from({ length: CLIENTS - 1 }, () => createKey(opened.db, { accountId }));
  return { accountId, secrets: [secret, ...(await Promise.all(more)).map((key) => key.secret)] };
}

async function assertAllEnded(db: Database, stream: Stream, dataDir: string): Promise<void> {
  for (const [key, taskId] of stream.tasksByKey) {
    await until(async () => (await tasksOfKey(db, key))[0]?.phase === 'completed', Boolean, 120);
    await assertOneVideo(db, key, taskId);
    await assertVideoOfKey(stream, key, taskId);
  }
  const spent = stream.tasksByKey.size * VIDEO_CREDITS;
  await assertBalance(db, stream.accountId, ENOUGH_CREDITS - spent);
  await assertTidyObjects(db, dataDir);
}

/** Sends a key again: it still means the same task, whose video can be downloaded. */
async function assertVideoOfKey(stream: Stream, key: string, taskId: string): Promise<void> {
  const [secret = ''] = stream.secrets;
  const replay = () => tryOnce(stream, secret, key);
  const { id, status, output } = await until(replay, (body) => body !== undefined, 120);
  assert.deepEqual({ id, status }, { id: taskId, status: 'completed' });
  const video = await fetch(output.video_url);
  assert.equal(video.status, 200);
  assert.equal(Buffer.from(await video.bytes()).toString('latin1', 4, 8), 'ftyp');
}

async function serveImage() {
  const host = await startMediaHost();
  const bytes = await imageBytes('png', 96, 54);
  const imageUrl = host.serve('/frame.png', { kind: 'bytes', bytes });
  const seen = () => host.requests.length;
  return { imageUrl, seen, port: host.port, [Symbol.asyncDispose]: () => host.close() };
}

async function surviveKills(t: TestContext): Promise<void> {
  await using folder = await temporaryFolder();
  await using host = await serveImage();
  const env = { DATA_DIR: path.join(folder.path, 'data') };
  const start = () =>
    startServiceProcess({ ...env, OUTBOUND_ALLOW: `localhost:${host.port}`, LOG_LEVEL: 'info' });
  const first = await start();
  const { accountId, secrets } = await makeSecrets(env.DATA_DIR);
  const stream: Stream = {
    accountId,
    secrets,
    imageUrl: host.imageUrl,
    service: Promise.resolve(first),
    tasksByKey: new Map(),
    bodies: new Map(),
    isOver: false,
  };
  await using _ = {
    async [Symbol.asyncDispose]() {
      stream.isOver = true;
      await (await stream.service).kill('SIGKILL');
    },
  };
  const senders = Promise.all(secrets.map((secret) => sendRequests(stream, secret)));
  await Promise.race([killRepeatedly(stream, host.seen, start), senders]);
  stream.isOver = true;
  await senders;
  await using opened = await openServiceDatabase(env.DATA_DIR);
  await assertAllEnded(opened.db, stream, env.DATA_DIR);
  assert.deepEqual(await runOperatorCommand(env, 'audit'), { ok: true, problems: [] });
  t.diagnostic(`${KILLS} kills, ${stream.tasksByKey.size} requests`);
  assert.equal(await (await stream.service).kill('SIGTERM'), 0);
}

test('a service killed repeatedly under a stream of creates loses no task', surviveKills);
