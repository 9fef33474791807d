import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openEmbeddedDatabase } from 'embedded-postgres';
import { statement } from '../../src/database/database.ts';
import { client } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { quiet } from '../database.ts';
import { longTest } from '../long.ts';
import { assertBalance, assertOneVideo, tasksOfKey } from '../service/end-state.ts';
import {
  type ServiceProcess,
  serviceEnvironment,
  startServiceProcess,
} from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { type CrashFixture, openCrashFixture, untilPhase, VIDEO_CREDITS } from './crash-fixture.ts';

/** Less than the 72 seconds for which an idle connection is kept: waiting for one fails the test. */
const END_SECONDS = 60;

const CLI = fileURLToPath(new URL('../../src/framewright.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const RENDERS = statement('test_renders', 'select state from local_jobs');
const LEASED = statement('test_leased', 'select id from tasks where leased_until is not null');

/** Fails if what ends by itself has waited for an idle connection. */
async function inTime<T>(ended: Promise<T>): Promise<T> {
  const begin = performance.now();
  const result = await ended;
  assert.ok(performance.now() - begin < END_SECONDS * 1000, 'it waited for an idle connection');
  return result;
}

/** Sends SIGTERM, and returns the exit code. */
function stop(service: ServiceProcess): Promise<number | null> {
  return inTime(service.kill('SIGTERM'));
}

/** Sends SIGTERM and waits until the service has begun to stop. */
async function askToStop(service: ServiceProcess): Promise<void> {
  service.process.kill('SIGTERM');
  await until(async () => service.output().includes('"msg":"shutting down'));
}

/** The warnings and errors in the log, without those of the settings of this test. */
function warnings(service: ServiceProcess): string[] {
  return service
    .output()
    .split('\n')
    .filter((line) => /"level":[456]0/.test(line) && !/OUTBOUND_ALLOW|SMTP_URL/.test(line));
}

/** A POST whose task waits for a download that never gets a response. */
async function createStalled(fixture: CrashFixture, service: Pick<ServiceProcess, 'url'>) {
  const { accountId, secret } = await makeCustomer(fixture.database.db, VIDEO_CREDITS);
  const slow = fixture.host.serve('/slow.png', { kind: 'stall' });
  const response = client(service.url, secret).create({ ...fixture.body, image_url: slow }, 'slow');
  await fixture.host.requested('/slow.png');
  return { accountId, response };
}

async function assertFinishes(fixture: CrashFixture, key: string, taskId: string): Promise<void> {
  const { db } = fixture.database;
  await using service = await startServiceProcess(fixture.env);
  await untilPhase(db, key, 'completed');
  await assertOneVideo(db, key, taskId);
  assert.equal(await stop(service), 0);
}

// Its client keeps the connection open, which must not delay the end.
test('a POST that waits at shutdown gets 202, and its task continues after the next start', async () => {
  await using fixture = await openCrashFixture('image-to-video');
  await using service = await startServiceProcess({ ...fixture.env, SHUTDOWN_SECONDS: '1' });
  const { accountId, response } = await createStalled(fixture, service);
  const ended = stop(service);
  const { status, body } = await response;
  assert.equal(status, 202);
  const [announced] = await tasksOfKey(fixture.database.db, 'slow');
  assert.deepEqual([announced?.id, announced?.announced], [body.id, true]);
  assert.equal(await ended, 0);
  fixture.host.serve('/slow.png', fixture.picture);
  await fixture.expireLeases();
  await assertFinishes(fixture, 'slow', body.id);
  await assertBalance(fixture.database.db, accountId, 0);
});

longTest('a signal a second later ends the process at once, and no task is lost', async () => {
  await using fixture = await openCrashFixture('image-to-video');
  await using service = await startServiceProcess({ ...fixture.env, SHUTDOWN_SECONDS: '3600' });
  const { response } = await createStalled(fixture, service);
  await askToStop(service);
  const { body } = await response;
  // Within the first second, a signal counts as the same request to stop.
  await until(async () => !service.process.kill('SIGTERM'));
  assert.equal(service.process.exitCode, 130);
  fixture.host.serve('/slow.png', fixture.picture);
  await fixture.expireLeases();
  await assertFinishes(fixture, 'slow', body.id);
});

longTest('a render is requeued at shutdown, and a step under way is finished', async (t) => {
  await using fixture = await openCrashFixture('text-to-video');
  const { db } = fixture.database;
  const { accountId, secret } = await makeCustomer(db, VIDEO_CREDITS);
  await t.test('the render', async () => {
    await using service = await startServiceProcess(fixture.env);
    await client(service.url, secret).create(fixture.body, 'render');
    await until(
      () => db.query<{ state: string }>(RENDERS),
      ([job]) => job?.state === 'rendering',
    );
    assert.equal(await stop(service), 0);
    assert.deepEqual(warnings(service), []);
    assert.deepEqual(await db.query(RENDERS), [{ state: 'queued' }]);
    assert.deepEqual(await db.query(LEASED), []);
  });
  await t.test('the archiving, after the next start', async () => {
    await using service = await startServiceProcess(fixture.env);
    await untilPhase(db, 'render', 'archiving', 'completed');
    assert.equal(await stop(service), 0);
    assert.deepEqual(warnings(service), []);
    const [task] = await tasksOfKey(db, 'render');
    await assertOneVideo(db, 'render', task?.id ?? '');
    await assertBalance(db, accountId, 0);
  });
});

longTest('Ctrl-C, which signals the group of npm start, stops the service in order', async () => {
  await using fixture = await openCrashFixture('image-to-video');
  const own = { ...fixture.env, HOME: fixture.dataDir, SHUTDOWN_SECONDS: '1' };
  const options = { env: serviceEnvironment(own), cwd: ROOT, detached: true };
  const npm = spawn('npm', ['start'], options);
  // The terminal signals npm and the service; then npm signals the service as well.
  const pressCtrlC = () => process.kill(-(npm.pid ?? 0), 'SIGINT');
  const closed = once(npm, 'close');
  const output = readOutput(npm);
  await until(async () => /the API is listening[^\n]*\n/.test(output()));
  const url = /url\W+(http:[\w:/.]+)/.exec(output())?.[1] ?? '';
  // The service still drains when the signal of npm comes.
  const { response } = await createStalled(fixture, { url });
  pressCtrlC();
  // The signals of the terminal and of npm may arrive as one: then this is the second one.
  await until(async () => output().includes('shutting down'));
  pressCtrlC();
  assert.equal((await response).status, 202);
  await inTime(closed);
  assert.match(output(), /shutting down.*stopped/s);
  assert.doesNotMatch(output(), /second signal/);
});

function readOutput(child: ChildProcessWithoutNullStreams): () => string {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return () => output;
}

for (const PROCESSES of ['1', '2']) {
  longTest(`one SIGINT ends a start of ${PROCESSES} that waits for a lock`, async () => {
    await using fixture = await openCrashFixture('text-to-video');
    const { db } = fixture.database;
    await db.query(statement('', 'delete from migrations'));
    await db.transaction(async (tx) => {
      await tx.query(statement('', 'set local idle_in_transaction_session_timeout = 0'));
      await tx.query(
        statement('', `select pg_advisory_xact_lock(hashtext('framewright migrations'))`),
      );
      const own = { ...fixture.env, PROCESSES, PUBLIC_URL: 'http://127.0.0.1' };
      const env = serviceEnvironment(own);
      const service = spawn(process.execPath, [CLI, 'serve'], { env });
      const output = readOutput(service);
      await until(async () => output().includes('waiting for another process'));
      service.kill('SIGINT');
      assert.deepEqual(await once(service, 'exit'), [0, null]);
      assert.match(output(), /asked to stop during the start: exiting at once/);
    });
  });
}

longTest('the embedded database is stopped last, by an orderly shutdown', async () => {
  await using folder = await temporaryFolder();
  const dataDir = path.join(folder.path, 'data');
  await using service = await startServiceProcess({ DATA_DIR: dataDir });
  assert.equal(await stop(service), 0);
  assert.deepEqual(warnings(service), []);
  const reopened = await openEmbeddedDatabase({ dataDir, log: quiet });
  await reopened.close();
  assert.equal(reopened.startedHere, true);
});
