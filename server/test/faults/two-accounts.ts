import { startSimulator } from '../../../simulators/kit/process.ts';
import { createTestDatabase } from '../database.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/**
 * A database and two simulated accounts at a provider.
 * @returns the variables of a service whose one connection is the first, `ark`, and those that add
 *   the connection `second`
 */
export async function openTwoAccounts(cleanup: AsyncDisposableStack) {
  const { db, url, close } = await createTestDatabase();
  cleanup.defer(close);
  const folder = cleanup.use(await temporaryFolder());
  const start = (name: string, port = '0') => {
    const record = `${folder.path}/${name}.jsonl`;
    const args = ['--port', port, '--record', record, '--job-seconds', '0.2'];
    return startSimulator('ark', folder.path, args);
  };
  const first = await start('first');
  const second = cleanup.adopt(await start('second'), (one) => one.kill());
  const { port, host } = new URL(first.url);
  return {
    db,
    first,
    second,
    restartFirst: () => start('first', port),
    env: {
      DATABASE_URL: url,
      DATA_DIR: folder.path,
      PROVIDER: 'ark',
      ARK_API_KEY: 'one',
      ARK_BASE_URL: `${first.url}/api/v3`,
      RECONCILE_SECONDS: '1',
      PROVIDER_ALLOW: `${host},${new URL(second.url).host}`,
    },
    withSecond: {
      CONNECTIONS: 'second:ark',
      SECOND_API_KEY: 'two',
      SECOND_BASE_URL: `${second.url}/api/v3`,
    },
  };
}
