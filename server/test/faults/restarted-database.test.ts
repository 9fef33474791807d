import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServiceProcess } from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { assertSound, loadDuring, recoverySeconds, summary } from './load.ts';
import { openRestartingDatabase } from './restarting-database.ts';

test('a database that crashes and is started again: no request gets a 500, and all recovers', async (t) => {
  await using folder = await temporaryFolder();
  await using database = await openRestartingDatabase(`${folder.path}/postgres`);
  const { db, url } = database;
  await using service = await startServiceProcess({ DATABASE_URL: url, DATA_DIR: folder.path });
  let recovery = { ready: 0, completed: 0 };
  const load = await loadDuring({ db, service, clients: 4 }, async () => {
    await database.restart(1);
    recovery = await recoverySeconds(db, service);
  });
  t.diagnostic(summary(load, recovery));
  assert.ok([...load.seen.keys()].some((seen) => seen.endsWith(' 503')));
  await assertSound(db, load);
  await service.kill('SIGTERM');
});
