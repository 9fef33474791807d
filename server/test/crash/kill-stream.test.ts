import assert from 'node:assert/strict';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createKey } from '../../src/accounts/api-keys.ts';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { openEmbeddedDatabase } from '../../src/kernel/embedded.ts';
import { client } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { quiet } from '../database.ts';
import { assertBalance, assertOneVideo, assertTidyObjects, tasksOfKey } from '../end-state.ts';
import { imageBytes } from '../media/media-fixture.ts';
import { startMediaHost } from '../media/media-host.ts';
import {
  runOperatorCommand,
  type ServiceProcess,
  startServiceProcess,
} from '../service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { VIDEO_CREDITS } from './crash-fixture.ts';

/** The embedded database dies with the service each time: nobody else uses it meanwhile. */
const KILLS = Number(process.env.FRAMEWRIGHT_KILLS ?? 2);
/** Requests that are on their way at a time, each by a client of its own. */
const CLIENTS = 2;
const ENOUGH_CREDITS = 100_000;

interface Stream {
  /** Where the service is now; a promise while it is down. */
  service: Promise<ServiceProcess>;
  accountId: string;
  secrets: string[];
  imageUrl: string;
  /** The task that each key was answered with at last. */
  tasksByKey: Map<string, string>;
  isOver: boolean;
}

/** Sends one request after the other; each with the same key until an answer names its task. */
async function sendRequests(stream: Stream, secret: string): Promise<void> {
  for (let count = 0; !stream.isOver; count += 1) {
    const key = `stream-${crypto.randomUUID()}`;
    const response = await until(
      () => tryOnce(stream, secret, { key, hasImage: count % 2 === 0 }),
      (body) => body !== undefined,
      120, // of which a full rate window may take half
    );
    stream.tasksByKey.set(key, response.id);
  }
}

/** @returns the task of a 200 or 202; undefined when the service was down, busy, or has had enough */
async function tryOnce(
  stream: Stream,
  secret: string,
  { key, hasImage }: { key: string; hasImage: boolean },
) {
  const { url } = await stream.service;
  const body = {
    ...{ model: 'video-2.0-mini', prompt: `A clock, ${key}`, duration: 4, resolution: '480p' },
    ...(hasImage ? { mode: 'image-to-video', image_url: stream.imageUrl } : {}),
    generate_audio: false,
  };
  const response = await client(url, secret)
    .create(body, key)
    .catch(() => undefined);
  if (!response || response.status === 503 || response.status === 429) return undefined;
  assert.ok(response.status === 200 || response.status === 202, JSON.stringify(response.body));
  return response.body;
}

/** Kills the service again and again: after an answer, or while it fetches a client's picture. */
async function killAgainAndAgain(
  stream: Stream,
  seen: () => number,
  start: () => Promise<ServiceProcess>,
): Promise<void> {
  for (let kill = 0; kill < KILLS; kill += 1) {
    const service = await stream.service;
    const count = kill % 2 === 0 ? () => stream.tasksByKey.size : seen;
    const wanted = count() + 1 + (kill % 3);
    await until(
      async () => count(),
      (size) => size >= wanted,
    );
    await service.kill('SIGKILL');
    stream.service = start();
  }
}

async function openBooks(dataDir: string) {
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
  await using books = await openBooks(dataDir);
  const { accountId, secret } = await makeCustomer(books.db, ENOUGH_CREDITS);
  const more = Array.from({ length: CLIENTS - 1 }, () => createKey(books.db, { accountId }));
  return { accountId, secrets: [secret, ...(await Promise.all(more)).map((key) => key.secret)] };
}

async function assertAllEnded(db: Database, stream: Stream, dataDir: string): Promise<void> {
  for (const [key, taskId] of stream.tasksByKey) {
    const isCompleted = ([last]: Awaited<ReturnType<typeof tasksOfKey>>) =>
      last?.phase === 'completed';
    await until(() => tasksOfKey(db, key), isCompleted, 120);
    await assertOneVideo(db, key, taskId);
  }
  const spent = stream.tasksByKey.size * VIDEO_CREDITS;
  await assertBalance(db, stream.accountId, ENOUGH_CREDITS - spent);
  await assertTidyObjects(db, dataDir);
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
    ...{ accountId, secrets, imageUrl: host.imageUrl },
    ...{ service: Promise.resolve(first), tasksByKey: new Map(), isOver: false },
  };
  await using _ = {
    async [Symbol.asyncDispose]() {
      stream.isOver = true;
      await (await stream.service).kill('SIGKILL');
    },
  };
  const senders = Promise.all(secrets.map((secret) => sendRequests(stream, secret)));
  await Promise.race([killAgainAndAgain(stream, host.seen, start), senders]);
  stream.isOver = true;
  await senders;
  await using books = await openBooks(env.DATA_DIR);
  await assertAllEnded(books.db, stream, env.DATA_DIR);
  assert.deepEqual(await runOperatorCommand(env, 'audit'), { ok: true, problems: [] });
  t.diagnostic(
    `${KILLS} kills, ${stream.tasksByKey.size} requests; FRAMEWRIGHT_KILLS=20 kills it twenty times`,
  );
  assert.equal(await (await stream.service).kill('SIGTERM'), 0);
}

test('killed again and again under a stream of creates with media, it loses no task', surviveKills);
