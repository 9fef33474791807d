import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audit } from '../../src/operator/audit.ts';
import { until } from '../until.ts';
import { makeKeys, openUpgrade, UPGRADE } from './previous-version.ts';
import type { UpgradeLoad } from './upgrade-load.ts';

/** How many creates must be accepted in each state of the deployment. */
const PHASE_CREATES = 4;

/** Waits until the load has created some more tasks, and checks that no request failed. */
async function assertGoodput(load: UpgradeLoad, state: string): Promise<void> {
  const before = load.accepted();
  await until(
    async () => load.accepted(),
    (count) => count >= before + PHASE_CREATES || load.failures().length > 0,
  );
  assert.deepEqual(load.failures(), [], state);
}

test('processes of a previous commit and of this one serve side by side', UPGRADE, async (t) => {
  const { database, env, previous, start, startLoad } = await openUpgrade(t);
  const oldApi = await start({ ROLES: 'api' }, previous);
  const oldWorker = await start({ ROLES: 'worker' }, previous);
  const keys = await makeKeys(previous, env);
  const newKey = async () => keys.pop() ?? assert.fail('the load needs more keys');
  const load = startLoad([oldApi.url], newKey);
  await assertGoodput(load, 'on the previous version');
  const newApi = await start({ ROLES: 'api' }); // migrates
  await assertGoodput(load, 'previous processes on the new schema');
  await load.use([oldApi.url, newApi.url]);
  await assertGoodput(load, 'both APIs, the worker of the previous version');
  const restarted = await start({ ROLES: 'api' }, previous);
  await load.use([restarted.url, newApi.url]);
  await oldApi.kill('SIGTERM');
  await start({ ROLES: 'worker' });
  await assertGoodput(load, 'both APIs, both workers');
  await load.use([newApi.url]);
  await restarted.kill('SIGTERM');
  await oldWorker.kill('SIGTERM');
  await assertGoodput(load, 'on this version');
  t.diagnostic(`slowest request: ${load.slowest().toFixed(2)} s`);
  await load.stop();
  assert.deepEqual(await audit(database.db), { ok: true, problems: [] });
});
