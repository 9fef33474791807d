import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createTestDatabase } from '../database.ts';
import { longTest } from '../long.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { sql } from '../task-fixtures.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { assertSound, loadDuring, readiness, recoverySeconds, summary } from './load.ts';
import { openSwallowingProxy } from './swallowing-proxy.ts';

async function openRig(t: TestContext) {
  const cleanup = new AsyncDisposableStack(); // the last first
  t.after(() => cleanup.disposeAsync());
  const database = await createTestDatabase();
  cleanup.defer(() => database.close());
  const folder = cleanup.use(await temporaryFolder());
  const proxy = cleanup.use(await openSwallowingProxy(database.url));
  const env = { DATABASE_URL: proxy.url, DATA_DIR: folder.path };
  const service = cleanup.use(await startServiceProcess(env));
  const { db } = database;
  /** What clients notice of a fault: of an outage, it begins; else it is over at once. */
  const during = async (what: string, begin: () => unknown, end?: () => unknown) => {
    let recovery = { ready: 0, completed: 0 };
    const load = await loadDuring({ db, service, clients: 4 }, async ({ seen }) => {
      await begin();
      if (end) {
        await until(
          () => readiness(service),
          (status) => status === 503,
        );
        await until(async () => [...seen.keys()].some((name) => name.endsWith(' 503')), Boolean);
        await end();
      }
      recovery = await recoverySeconds(db, service);
    });
    t.diagnostic(`${what}: ${summary(load, recovery)}`);
    await assertSound(db, load);
  };
  const stop = async () => assert.equal(await service.kill('SIGTERM'), 0);
  return { database, proxy, during, stop };
}

longTest(
  'a database that swallows all packets, then connections that a firewall forgot',
  async (t) => {
    const { proxy, during, stop } = await openRig(t);
    await during('all packets swallowed', proxy.swallow, proxy.forward);
    await during('connections forgotten', proxy.forgetConnections);
    await stop();
  },
);

test('a fail-over to a read-only standby: no request gets a 500, and all recovers', async (t) => {
  const { database, during, stop } = await openRig(t);
  const { db, url } = database;
  const name = new URL(url).pathname.slice(1);
  const alter = (text: string) =>
    db.transaction(async (tx) => {
      await tx.query({ name: '', text: 'set transaction read write' });
      await tx.query({ name: '', text: `alter database ${name} ${text}` });
    });
  const failOver = async () => {
    await alter('set default_transaction_read_only = on');
    await sql(
      db,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()
         and backend_type = 'client backend'`,
    );
  };
  await during('read-only', failOver, () => alter('reset default_transaction_read_only'));
  await stop();
});
