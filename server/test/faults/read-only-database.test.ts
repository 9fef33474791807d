import { test } from 'node:test';
import { statement } from '../../src/database/database.ts';
import { createTestDatabase } from '../database.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import {
  assertSound,
  loadDuring,
  metByClients,
  readiness,
  recoverySeconds,
  summary,
} from './load.ts';

const CUT_OFF = statement(
  'test_cut_off',
  `select pg_terminate_backend(pid) from pg_stat_activity
   where datname = current_database() and pid <> pg_backend_pid()
     and backend_type = 'client backend'`,
);

test('a fail-over to a read-only standby: no request gets a 500, and all recovers', async (t) => {
  await using folder = await temporaryFolder();
  const database = await createTestDatabase();
  const { db, url } = database;
  await using service = await startServiceProcess({ DATABASE_URL: url, DATA_DIR: folder.path });
  let recovery = { ready: 0, completed: 0 };
  const name = new URL(url).pathname.slice(1);
  const setReadOnly = (text: string) =>
    db.transaction(async (tx) => {
      await tx.query({ name: '', text: 'set transaction read write' });
      await tx.query({ name: '', text });
    });
  const load = await loadDuring({ db, service, clients: 4 }, async (seen) => {
    await setReadOnly(`alter database ${name} set default_transaction_read_only = on`);
    await db.query(CUT_OFF);
    await until(
      () => readiness(service),
      (status) => status === 503,
    );
    await metByClients(seen);
    await setReadOnly(`alter database ${name} reset default_transaction_read_only`);
    recovery = await recoverySeconds(db, service);
  });
  t.diagnostic(summary(load, recovery));
  await assertSound(db, load);
  await service.kill('SIGTERM');
  await database.close();
});
