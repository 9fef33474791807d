import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createKey } from '../../src/accounts/api-keys.ts';
import { statement } from '../../src/database/database.ts';
import { type ApiResponse, client, SMALLEST } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { assertBalance, assertOneVideo, type KeyTask, tasksOfKey } from './end-state.ts';
import { runOperatorCommand, startServiceProcess } from './service-process.ts';

const CREDITS = 60;

const ATTEMPTS = statement(
  'test_attempts',
  `select count(*)::int as attempts from attempts a join tasks t on t.id = a.task_id
   where t.account_id = $1`,
);

// Two APIs and two workers, each a process of its own, on one database and one data folder.
// processes.test.ts shows that APIs share limits, and refuse a key once it is revoked.

const database = await createTestDatabase();
const folder = await temporaryFolder();
const env = { DATABASE_URL: database.url, DATA_DIR: folder.path };
const start = (ROLES: string) => startServiceProcess({ ...env, ROLES });
const apis = await Promise.all([start('api'), start('api')]);
const workers = await Promise.all([start('worker'), start('worker')]);
after(async () => {
  await Promise.all([...apis, ...workers].map((service) => service.kill('SIGKILL')));
  await database.close();
  await folder[Symbol.asyncDispose]();
});

function isCompleted([task]: KeyTask[]): boolean {
  return task?.phase === 'completed';
}

/** Sends `count` requests at the same time, to each API in turn. */
function atOnce(count: number, send: (url: string, turn: number) => Promise<ApiResponse>) {
  const urls = apis.map((api) => api.url);
  return Promise.all(
    Array.from({ length: count }, (_, turn) => send(urls[turn % urls.length] ?? '', turn)),
  );
}

test('equal requests with one key, sent to two APIs at once, share one task and one video', async () => {
  const { accountId, secret } = await makeCustomer(database.db, CREDITS);
  const responses = await atOnce(10, (url) => client(url, secret).create(SMALLEST, 'equal'));
  const statuses = responses.map((response) => response.status).sort();
  assert.deepEqual(statuses, [...Array(9).fill(200), 202]);
  const ids = new Set(responses.map((response) => response.body.id));
  assert.equal(ids.size, 1);
  const [id] = ids;
  await until(() => tasksOfKey(database.db, 'equal'), isCompleted);
  await assertOneVideo(database.db, 'equal', id);
  await assertBalance(database.db, accountId, 0);
  const read = await client(apis[1]?.url ?? '', secret).task(String(id));
  const video = await fetch(read.body.output.video_url);
  assert.deepEqual([video.status, video.headers.get('content-type')], [200, 'video/mp4']);
  await video.body?.cancel();
});

test('of 200 creates at once, over ten keys and two APIs, exactly the four paid for pass', async () => {
  const { accountId, secret } = await makeCustomer(database.db, 4 * CREDITS);
  const more = Array.from({ length: 9 }, () => createKey(database.db, { accountId }));
  const secrets = [secret, ...(await Promise.all(more)).map((key) => key.secret)];
  const responses = await atOnce(200, (url, turn) =>
    client(url, secrets[turn % 10] ?? '').create(SMALLEST),
  );
  const accepted = responses.filter((response) => response.status === 202);
  const refused = responses.filter((response) => response.status === 402);
  assert.deepEqual([accepted.length, refused.length], [4, 196]);
  assert.equal(new Set(accepted.map((response) => response.body.id)).size, 4);
  const { body } = await client(apis[0]?.url ?? '', secret).credits();
  assert.deepEqual(body, { available_credits: 0, balance_type: 'paid' });
  assert.deepEqual(await runOperatorCommand(env, 'audit'), { ok: true, problems: [] });
  const [row] = await database.db.query<{ attempts: number }>(ATTEMPTS, [accountId]);
  assert.equal(row?.attempts, 4, 'two workers, but each task is submitted once');
});

test('a process of each role stops on SIGTERM with exit code 0', async () => {
  const services = [...apis, ...workers];
  const codes = await Promise.all(services.map((service) => service.kill('SIGTERM')));
  assert.deepEqual(codes, [0, 0, 0, 0]);
});
