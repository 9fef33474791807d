import { client } from '../../server/test/client.ts';
import { makeFundedKeys, openBenchSetup } from '../bench-setup.ts';
import { runClients, type Sample } from '../load.ts';

export const WAITING_CLIENTS = 2;
const SECONDS = 8;
/** At a create per 30 ms or more, no key comes near its 30 requests in 60 seconds. */
const KEY_COUNTS = { accounts: 10, keysEach: 10 };
const REQUEST = {
  prompt: 'A lighthouse at dawn, waves below',
  model: 'video-2.0-mini',
  resolution: '480p',
  duration: 4,
  generate_audio: false,
};

/** The default create, whose response comes once the provider has accepted the job. */
export async function measureWaitingCreate(): Promise<Sample> {
  await using bench = await openBenchSetup();
  const keys = await makeFundedKeys(bench.db, KEY_COUNTS);
  await using service = await bench.startService({ ROLES: 'api,worker' });
  const clients = keys.map(({ secret }) => client(service.url, secret));
  let turn = 0;
  const create = async () => {
    const response = await clients[turn++ % clients.length]?.create(REQUEST);
    if (response?.status !== 202) throw new Error(`a create got ${response?.status}`);
  };
  await create();
  return await runClients(WAITING_CLIENTS, { seconds: SECONDS }, create);
}
