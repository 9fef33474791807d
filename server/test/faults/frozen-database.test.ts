import { test } from 'node:test';
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
import { openSwallowingProxy } from './swallowing-proxy.ts';

test('a database that swallows all packets, then connections that a firewall forgot', async (t) => {
  await using folder = await temporaryFolder();
  const database = await createTestDatabase();
  await using proxy = await openSwallowingProxy(database.url);
  await using service = await startServiceProcess({
    DATABASE_URL: proxy.url,
    DATA_DIR: folder.path,
  });
  const { db } = database;
  let recovery = { ready: 0, completed: 0 };
  const swallowed = await loadDuring({ db, service, clients: 4 }, async (seen) => {
    proxy.swallow();
    await until(
      () => readiness(service),
      (status) => status === 503,
    );
    await metByClients(seen);
    proxy.forward();
    recovery = await recoverySeconds(db, service);
  });
  t.diagnostic(`all packets swallowed: ${summary(swallowed, recovery)}`);
  const forgotten = await loadDuring({ db, service, clients: 4 }, async () => {
    proxy.forgetConnections();
    recovery = await recoverySeconds(db, service);
  });
  t.diagnostic(`connections forgotten: ${summary(forgotten, recovery)}`);
  for (const load of [swallowed, forgotten]) await assertSound(db, load);
  await service.kill('SIGTERM');
  await database.close();
});
