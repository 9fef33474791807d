import { client } from '../server/test/client.ts';
import { measure, type Sample } from './sample.ts';
import { makeCustomers, openStage } from './stage.ts';

export const WAITING_CLIENTS = 2;
const SECONDS = 8;
/** A create every 30 ms or slower: no key comes near its 30 requests. */
const CUSTOMERS = { accounts: 10, keysEach: 10 };
const REQUEST = {
  prompt: 'A lighthouse at dawn, waves below',
  model: 'video-2.0-mini',
  resolution: '480p',
  duration: 4,
  generate_audio: false,
};

/** The create as clients meet it by default: answered when the provider has taken the job. */
export async function measureWaitingCreate(): Promise<Sample> {
  await using stage = await openStage();
  const customers = await makeCustomers(stage.db, CUSTOMERS);
  await using service = await stage.startService({ ROLES: 'api,worker' });
  const clients = customers.map(({ secret }) => client(service.url, secret));
  let turn = 0;
  const create = async () => {
    const answer = await clients[turn++ % clients.length]?.create(REQUEST);
    if (answer?.status !== 202) throw new Error(`a create was answered ${answer?.status}`);
  };
  await create();
  return await measure({ clients: WAITING_CLIENTS, seconds: SECONDS }, create);
}
