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

test('equal requests with one key, sent to two APIs at once, share one task', async () => {
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
});

test('a task created through one API is read, and its video fetched, through the other', async () => {
  const [one, other] = apis.map((api) => api.url);
  const { secret } = await makeCustomer(database.db, CREDITS);
  const created = await client(one ?? '', secret).create(SMALLEST, 'elsewhere');
  assert.equal(created.status, 202);
  await until(() => tasksOfKey(database.db, 'elsewhere'), isCompleted);
  const read = await client(other ?? '', secret).task(created.body.id);
  const video = await fetch(read.body.output.video_url);
  assert.equal(video.status, 200);
  assert.equal(video.headers.get('content-type'), 'video/mp4');
  await video.body?.cancel();
});

test('a key revoked by an operator is refused by every API from the next request on', async () => {
  const { keyId, secret } = await makeCustomer(database.db, 0);
  const read = (url: string) => client(url, secret).credits();
  const before = await atOnce(2, read);
  assert.deepEqual(
    before.map(({ status }) => status),
    [200, 200],
  );
  await runOperatorCommand(env, 'keys', 'revoke', keyId);
  const afterwards = await atOnce(2, read);
  assert.deepEqual(
    afterwards.map(({ status }) => status),
    [401, 401],
  );
});

test('of 60 requests at once through two APIs exactly 30 are admitted', async () => {
  const { secret } = await makeCustomer(database.db, 0);
  const responses = await atOnce(60, (url) => client(url, secret).credits());
  const statuses = responses.map((response) => response.status);
  assert.equal(statuses.filter((status) => status === 200).length, 30);
  assert.equal(statuses.filter((status) => status === 429).length, 30);
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
