import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { audit } from '../../src/operator/audit.ts';
import { client, SMALLEST } from '../client.ts';
import { untilPhase } from '../crash/crash-fixture.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { tasksOfKey } from './end-state.ts';
import { runOperatorCommand, type ServiceProcess, startServiceProcess } from './service-process.ts';

// One start with two processes of the API and a worker.
let database: TestDatabase;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let env: Record<string, string>;
let service: ServiceProcess;

before(async () => {
  database = await createTestDatabase();
  folder = await temporaryFolder();
  env = { DATABASE_URL: database.url, DATA_DIR: folder.path, PROCESSES: '2' };
  service = await startServiceProcess({ ...env, DRAIN_SECONDS: '1' });
  await until(async () => pids().size === 3);
});
after(async () => {
  await service?.kill('SIGKILL');
  await database.close();
  await folder[Symbol.asyncDispose]();
});

/** The newest process id of each process, from the log. */
function pids(): Map<string, number> {
  const starts = service.output().matchAll(/"started":"([\w-]+)","pid":(\d+)/g);
  return new Map([...starts].map(([, name = '', pid]) => [name, Number(pid)]));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Requests over connections of their own, so that the processes share them. */
async function statuses(count: number, secret: string): Promise<number[]> {
  const headers = { authorization: `Bearer ${secret}`, connection: 'close' };
  const send = () => fetch(`${service.url}/api/v1/credits`, { headers });
  const responses = await Promise.all(Array.from({ length: count }, send));
  await Promise.all(responses.map((response) => response.arrayBuffer()));
  return responses.map(({ status }) => status);
}

async function served(name: string): Promise<number> {
  const text = await (await fetch(service.metricsUrl)).text();
  const line = new RegExp(
    `^framewright_http_responses_total\\{.*process="${name}".*\\} (\\d+)$`,
    'gm',
  );
  return [...text.matchAll(line)].reduce((sum, [, count]) => sum + Number(count), 0);
}

test('the processes of one start share its port, its limits and its metrics', async () => {
  const { secret } = await makeCustomer(database.db, 60);
  const created = await client(service.url, secret).create(SMALLEST, 'shared');
  assert.equal(created.status, 202);
  await untilPhase(database.db, 'shared', 'completed');
  const before = await Promise.all([served('api-1'), served('api-2')]);
  const admitted = (await statuses(60, secret)).filter((status) => status === 200);
  assert.equal(admitted.length, 29, 'the create was the first of 30');
  const after = await Promise.all([served('api-1'), served('api-2')]);
  assert.ok(
    after.every((count, index) => count > (before[index] ?? 0)),
    JSON.stringify(after),
  );
  const other = await makeCustomer(database.db, 0);
  assert.deepEqual([...new Set(await statuses(8, other.secret))], [200]);
  await runOperatorCommand(env, 'keys', 'revoke', other.keyId);
  assert.deepEqual([...new Set(await statuses(8, other.secret))], [401]);
  assert.match(service.output(), /"process":"api-2".*the API is listening/);
});

test('a process that dies is started again, and the others serve meanwhile', async (t) => {
  const lost = [...pids()];
  const { secret } = await makeCustomer(database.db, 60);
  for (const name of ['api-1', 'worker']) process.kill(pids().get(name) ?? 0, 'SIGKILL');
  const lostAt = performance.now();
  const isGone = async () => lost.filter(([, pid]) => isAlive(pid)).length;
  await until(isGone, (count) => count === 1);
  assert.deepEqual([...new Set(await statuses(4, secret))], [200]);
  const { status } = await client(service.url, secret).create(SMALLEST, 'after');
  assert.equal(status, 202);
  await untilPhase(database.db, 'after', 'completed');
  const isReplaced = ([name, pid]: [string, number]) => pids().get(name) !== pid;
  await until(async () => lost.filter(isReplaced).length === 2);
  t.diagnostic(`recovered after ${((performance.now() - lostAt) / 1000).toFixed(1)} s`);
  assert.match(service.output(), /"ended":"api-1".*"signal":"SIGKILL".*is restarted/);
});

test('a second start on the same port says why it ends, once', async () => {
  const { port } = new URL(service.url);
  await assert.rejects(startServiceProcess({ ...env, PORT: port }), (error: Error) => {
    assert.match(error.message, /ended \(2\)/);
    assert.equal(error.message.match(/the port is in use/g)?.length, 1);
    return true;
  });
});

test('SIGTERM ends all processes; a client that waits gets its response before', async () => {
  const all = [...pids().values()];
  const apis = [...pids()].filter(([name]) => name !== 'worker').map(([, pid]) => pid);
  const { secret } = await makeCustomer(database.db, 60);
  const created = client(service.url, secret).create({ ...SMALLEST, prompt: 'At the end' }, 'end');
  await until(async () => (await tasksOfKey(database.db, 'end')).length === 1);
  const ended = service.kill('SIGTERM');
  const readyUrl = service.metricsUrl.replace('/metrics', '/readyz');
  const readiness = async () => fetch(readyUrl).then(({ status }) => status, String);
  assert.equal(await until(readiness, (status) => status !== 200), 503);
  assert.deepEqual(apis.filter(isAlive), apis, 'they drain');
  assert.equal((await created).status, 202);
  assert.equal(await ended, 0);
  assert.deepEqual(all.filter(isAlive), []);
  assert.deepEqual(await audit(database.db), { ok: true, problems: [] });
});
