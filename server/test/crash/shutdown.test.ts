import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { openEmbeddedDatabase } from 'embedded-postgres';
import { type Database, statement } from '../../src/database/database.ts';
import { assertBalance, assertOneVideo, storyOf } from '../books.ts';
import { client } from '../client.ts';
import { quiet } from '../database.ts';
import {
  makeCustomer,
  type ServiceProcess,
  startServiceProcess,
  temporaryFolder,
  until,
} from '../service.ts';
import { CREDITS, type CrashWorld, openCrashWorld } from './crash-world.ts';

/** Less than the 72 seconds for which an answered connection is kept, so that this is noticed. */
const PATIENCE = { timeout: 60_000 };

const RENDERS = statement('test_renders', 'select state from local_jobs');
const LEASED = statement('test_leased', 'select id from tasks where leased_until is not null');

async function phaseOf(db: Database, key: string): Promise<string | undefined> {
  const [task] = await storyOf(db, key);
  return task?.phase;
}

/** Sends SIGTERM and waits until the service has begun to stop. */
async function askToStop(service: ServiceProcess): Promise<void> {
  service.process.kill('SIGTERM');
  await until(async () => service.output().includes('"msg":"stopping'), Boolean);
}

function warnings(service: ServiceProcess): string[] {
  return service
    .output()
    .split('\n')
    .filter((line) => /"level":[456]0/.test(line) && !line.includes('OUTBOUND_ALLOW'));
}

/** A POST whose task waits for a download that never comes. */
async function createStalled(world: CrashWorld, service: ServiceProcess) {
  const { accountId, secret } = await makeCustomer(world.database.db, CREDITS);
  const slow = world.host.serve('/slow.png', { kind: 'stall' });
  const answer = client(service.url, secret).create({ ...world.body, image_url: slow }, 'slow');
  await world.host.requested('/slow.png');
  return { accountId, answer };
}

async function assertFinishes(world: CrashWorld, key: string, taskId: string): Promise<void> {
  const { db } = world.database;
  await using service = await startServiceProcess(world.env);
  await until(
    () => phaseOf(db, key),
    (phase) => phase === 'completed',
  );
  await assertOneVideo(db, key, taskId);
  assert.equal(await service.kill('SIGTERM'), 0);
}

test(
  'a POST that waits at shutdown is answered 202, and its task goes on afterwards',
  PATIENCE,
  async () => {
    await using world = await openCrashWorld('image-to-video');
    await using service = await startServiceProcess({ ...world.env, SHUTDOWN_SECONDS: '1' });
    const { accountId, answer } = await createStalled(world, service);
    const ended = service.kill('SIGTERM');
    const { status, body } = await answer;
    assert.equal(status, 202);
    const [announced] = await storyOf(world.database.db, 'slow');
    assert.deepEqual([announced?.id, announced?.announced], [body.id, true]);
    assert.equal(await ended, 0);
    world.host.serve('/slow.png', world.picture);
    await world.endLeases();
    await assertFinishes(world, 'slow', body.id);
    await assertBalance(world.database.db, accountId, 0);
  },
);

test(
  'clients that keep their connections after the answer do not keep the API',
  PATIENCE,
  async () => {
    await using world = await openCrashWorld('text-to-video');
    const { db } = world.database;
    const { secret } = await makeCustomer(db, CREDITS);
    const env = { ...world.env, ROLES: 'api', SHUTDOWN_SECONDS: '3600' };
    await using service = await startServiceProcess(env);
    const answer = client(service.url, secret).create(world.body, 'kept');
    await until(
      () => phaseOf(db, 'kept'),
      (phase) => phase === 'reserved',
    );
    const ended = service.kill('SIGTERM');
    assert.equal((await answer).status, 202);
    assert.equal(await ended, 0);
  },
);

test('a second signal ends the service at once, and nothing is lost', PATIENCE, async () => {
  await using world = await openCrashWorld('image-to-video');
  await using service = await startServiceProcess({ ...world.env, SHUTDOWN_SECONDS: '3600' });
  const { answer } = await createStalled(world, service);
  await askToStop(service);
  const { body } = await answer;
  assert.equal(await service.kill('SIGTERM'), 130);
  world.host.serve('/slow.png', world.picture);
  await world.endLeases();
  await assertFinishes(world, 'slow', body.id);
});

test(
  'a render is given back at shutdown, and finished after the next start',
  PATIENCE,
  async () => {
    await using world = await openCrashWorld('text-to-video');
    const { db } = world.database;
    const { secret } = await makeCustomer(db, CREDITS);
    await using service = await startServiceProcess(world.env);
    const { body } = await client(service.url, secret).create(world.body, 'render');
    await until(
      () => db.query<{ state: string }>(RENDERS),
      ([job]) => job?.state === 'rendering',
    );
    assert.equal(await service.kill('SIGTERM'), 0);
    assert.deepEqual(warnings(service), []);
    assert.deepEqual(await db.query(RENDERS), [{ state: 'queued' }]);
    assert.deepEqual(await db.query(LEASED), []);
    await assertFinishes(world, 'render', body.id);
  },
);

test('a step under way at shutdown is finished before the end', PATIENCE, async () => {
  await using world = await openCrashWorld('text-to-video');
  const { db } = world.database;
  const { accountId, secret } = await makeCustomer(db, CREDITS);
  await using service = await startServiceProcess(world.env);
  await client(service.url, secret).create(world.body, 'archive');
  await until(
    () => phaseOf(db, 'archive'),
    (phase) => phase === 'archiving' || phase === 'completed',
  );
  assert.equal(await service.kill('SIGTERM'), 0);
  assert.deepEqual(warnings(service), []);
  assert.equal(await phaseOf(db, 'archive'), 'completed');
  await assertBalance(db, accountId, 0);
});

test('a client that never finishes its request does not keep the service', PATIENCE, async () => {
  await using world = await openCrashWorld('text-to-video');
  await using service = await startServiceProcess({ ...world.env, SHUTDOWN_SECONDS: '1' });
  const socket = net.connect(Number(new URL(service.url).port), '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Never: en');
  assert.equal(await service.kill('SIGTERM'), 0);
});

test('a service whose port is taken says so and ends', PATIENCE, async () => {
  await using world = await openCrashWorld('text-to-video');
  await using service = await startServiceProcess(world.env);
  const { port } = new URL(service.url);
  const taken = startServiceProcess({ ...world.env, PORT: port });
  await assert.rejects(taken, /ended \(2\).*framewright: can't listen on .* the port is in use/s);
});

test('the embedded database is stopped last, and cleanly', PATIENCE, async () => {
  await using folder = await temporaryFolder();
  const dataDir = path.join(folder.path, 'data');
  await using service = await startServiceProcess({ DATA_DIR: dataDir });
  assert.equal(await service.kill('SIGTERM'), 0);
  assert.deepEqual(warnings(service), []);
  const reopened = await openEmbeddedDatabase({ dataDir, log: quiet });
  await reopened.close();
  assert.equal(reopened.startedHere, true);
});
