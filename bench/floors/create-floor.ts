/** A program that runs the service's create transactions without HTTP. */
import { BUILT_IN } from '../../server/src/catalog/catalog.ts';
import { priceOf } from '../../server/src/catalog/price.ts';
import { openDatabase } from '../../server/src/database/database.ts';
import { createLog } from '../../server/src/kernel/log.ts';
import { fingerprintOf } from '../../server/src/requests/bodies.ts';
import { openWakeUps } from '../../server/src/tasks/wake-ups.ts';
import { requestOf } from '../../server/test/requests.ts';
import { createTask } from '../../server/test/task-fixtures.ts';
import { runClients, type Sample } from '../load.ts';
import { serveRequests } from '../program.ts';

export interface CreateFloorSetup {
  databaseUrl: string;
  connections: number;
  clients: number;
  accountIds: string[];
}

const REQUEST = requestOf({
  prompt: 'A lighthouse at dawn, waves below',
  model: 'video-2.0-mini',
});

serveRequests<CreateFloorSetup, { seconds: number }, Sample>(async (setup) => {
  const log = createLog({ level: 'warn' });
  const { databaseUrl: url, connections, accountIds } = setup;
  const db = openDatabase({ url, connections, log });
  const wakeUps = openWakeUps({ url, db, log });
  const deps = { db, wakeUps, log, providerName: 'local', createWaitSeconds: 0 };
  const fingerprint = fingerprintOf({ prompt: REQUEST.prompt, model: REQUEST.model });
  const price = priceOf(BUILT_IN, REQUEST, new Date());
  if (!price) throw new Error('the request has no price');
  let turn = 0;
  const act = async () => {
    const accountId = accountIds[turn++ % accountIds.length] ?? '';
    const idempotencyKey = crypto.randomUUID();
    const binding = { accountId, surface: 'api', idempotencyKey, fingerprint };
    await createTask(deps, { binding, request: REQUEST, price, provider: 'local' });
  };
  return {
    handle: (load) => runClients(setup.clients, load, act),
    close: () => db.close(),
  };
});
