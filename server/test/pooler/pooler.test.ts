import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { audit } from '../../src/operator/audit.ts';
import { client, SMALLEST } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import {
  createTestDatabase,
  openTestServer,
  POOLER_STATEMENTS,
  type TestDatabase,
  throughPooler,
} from '../database.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { type PgBouncer, startPgBouncer } from './pgbouncer.ts';

const PROGRAM = process.env.FRAMEWRIGHT_PGBOUNCER ?? '';
const skip = PROGRAM === '' && 'set FRAMEWRIGHT_PGBOUNCER to the file of a PgBouncer';

const CREDITS = 60;

let database: TestDatabase;
let server: Awaited<ReturnType<typeof openTestServer>>;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
before(async () => {
  server = await openTestServer();
  database = await createTestDatabase();
  folder = await temporaryFolder();
});
after(async () => {
  await database.close();
  await server.close();
  await folder[Symbol.asyncDispose]();
});

function environment(pooler: PgBouncer): Record<string, string> {
  return {
    DATABASE_URL: throughPooler(database.url, pooler.host),
    DATABASE_DIRECT_URL: database.url,
    DATA_DIR: folder.path,
    POOLER_STATEMENTS,
  };
}

test('two APIs and two workers share fewer sessions than each would open', { skip }, async () => {
  await using pooler = await startPgBouncer(PROGRAM, server.url, { poolSize: 6 });
  const start = (ROLES: string) => startServiceProcess({ ...environment(pooler), ROLES });
  await using one = await start('api');
  await using other = await start('api');
  await using worker = await start('worker');
  await using _second = await start('worker');
  const { secret } = await makeCustomer(database.db, 10 * CREDITS);
  const create = (turn: number) => client((turn % 2 ? one : other).url, secret).create(SMALLEST);
  const responses = await Promise.all(Array.from({ length: 25 }, (_, turn) => create(turn)));
  const statuses = responses.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [...Array(10).fill(202), ...Array(15).fill(402)]);
  await until(
    () => sql<{ phase: string }>(database.db, 'select phase from tasks'),
    (tasks) => tasks.length === 10 && tasks.every(({ phase }) => phase === 'completed'),
  );
  assert.deepEqual(await audit(database.db), { ok: true, problems: [] });
  const listening = await sql(database.db, `select from pg_locks where locktype = 'advisory'`);
  assert.deepEqual(listening, [], 'no lock is left to a session of the pooler');
  assert.doesNotMatch(worker.output(), /notify|LISTEN/i);
});

test('the service goes on after its pooler was lost', { skip }, async (t) => {
  const lost = await startPgBouncer(PROGRAM, server.url);
  const env = environment(lost);
  await using service = await startServiceProcess(env);
  const { secret } = await makeCustomer(database.db, 10 * CREDITS);
  assert.equal((await client(service.url, secret).create(SMALLEST)).status, 202);
  const port = Number(lost.host.split(':')[1]);
  await lost[Symbol.asyncDispose]();
  assert.equal((await client(service.url, secret).credits()).status, 503);
  const lostAt = performance.now();
  await using _again = await startPgBouncer(PROGRAM, server.url, { port });
  await until(
    async () => (await client(service.url, secret).credits()).status,
    (s) => s === 200,
  );
  t.diagnostic(`recovered after ${((performance.now() - lostAt) / 1000).toFixed(1)} s`);
  assert.equal((await client(service.url, secret).create(SMALLEST)).status, 202);
});
