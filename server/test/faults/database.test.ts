import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../database.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { assertSound, loadDuring, readiness, recovered } from './load.ts';

test('a fail-over to a read-only standby: no request gets a 500, and all recovers', async () => {
  await using cleanup = new AsyncDisposableStack(); // the last first
  const { db, url, close } = await createTestDatabase();
  cleanup.defer(close);
  const folder = cleanup.use(await temporaryFolder());
  const env = { DATABASE_URL: url, DATA_DIR: folder.path };
  const service = cleanup.use(await startServiceProcess(env));
  const name = new URL(url).pathname.slice(1);
  const alter = (text: string) =>
    db.transaction(async (tx) => {
      await tx.query({ name: '', text: 'set transaction read write' });
      await tx.query({ name: '', text: `alter database ${name} ${text}` });
    });
  const failOver = async () => {
    await alter('set default_transaction_read_only = on');
    const select = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()
        and backend_type = 'client backend'`;
    await sql(db, select);
  };
  const load = await loadDuring({ db, service, clients: 4 }, async (seen) => {
    await failOver();
    await until(
      () => readiness(service),
      (status) => status === 503,
    );
    await until(async () => [...seen].some((name) => name.endsWith(' 503')), Boolean);
    await alter('reset default_transaction_read_only');
    await recovered(db, service);
  });
  await assertSound(db, load);
  assert.equal(await service.kill('SIGTERM'), 0);
});
