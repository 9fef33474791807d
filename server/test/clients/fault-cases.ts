import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Plan } from '../../../simulators/kit/faults.ts';
import { closeServer, listenOn } from '../../../simulators/kit/http-server.ts';
import { createAccount } from '../../src/accounts/accounts.ts';
import { createKey } from '../../src/accounts/api-keys.ts';
import { send } from '../client.ts';
import type { MediaFixture } from '../media/media-fixture.ts';
import { type FaultProxy, openFaultProxy } from './fault-proxy.ts';

/** What a client is given: an account of its own, behind a proxy of its own. */
export interface ClientCase extends AsyncDisposable {
  apiKey: string;
  /** Through the proxy, with `/api/v1`. */
  baseUrl: string;
  /** The service without the proxy. */
  directUrl: string;
  report(): ReturnType<typeof reportOf>;
}

const TEST_CREDITS = 100_000;

/** Opens a new account with a test key, and a proxy with these faults before the service. */
export async function openClientCase(
  { db, url }: Pick<MediaFixture, 'db' | 'url'>,
  plans: Plan[] = [],
): Promise<ClientCase> {
  const accountId = await createAccount(db, `${crypto.randomUUID()}@example.com`);
  const newKey = async () => (await createKey(db, { accountId, mode: 'test' })).secret;
  const proxy = await openFaultProxy({ target: url, plans });
  return {
    apiKey: await newKey(),
    baseUrl: `${proxy.url}/api/v1`,
    directUrl: `${url}/api/v1`,
    report: async () => reportOf(proxy, `${url}/api/v1`, await newKey()),
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  };
}

/** What arrived at the proxy, and what the account has afterwards. */
async function reportOf({ requests }: FaultProxy, url: string, apiKey: string) {
  const headers = { authorization: `Bearer ${apiKey}` };
  const get = async (path: string) => (await send(url + path, { headers })).body;
  const calls = Object.groupBy(requests, ({ call }) => call);
  const keys = new Set(requests.map(({ idempotencyKey }) => idempotencyKey));
  keys.delete(undefined);
  const tries = Object.entries(calls).map(([call, sent]) => [call, sent?.length ?? 0] as const);
  return {
    tries: Object.fromEntries<number | undefined>(tries),
    keys: [...keys].map(String),
    tasks: (await get('/tasks?limit=100')).data.length as number,
    /** The test credits that are reserved or spent. */
    charge: TEST_CREDITS - (await get('/credits')).available_credits,
  };
}

/**
 * Gives cases to a client that runs in another process: `POST /` with the faults opens one,
 * `GET /N` gives its report.
 */
export async function serveClientCases(fixture: Pick<MediaFixture, 'db' | 'url'>) {
  const cases: ClientCase[] = [];
  const server = createServer(async (request, response) => {
    const number = Number(request.url?.slice(1));
    const answer =
      request.method === 'POST'
        ? await open((await json(request)) as { faults?: Plan[] })
        : await cases[number]?.report();
    response.writeHead(answer ? 200 : 404).end(JSON.stringify(answer));
  });
  const open = async ({ faults }: { faults?: Plan[] }) => {
    const opened = await openClientCase(fixture, faults);
    const { apiKey, baseUrl, directUrl } = opened;
    return { number: cases.push(opened) - 1, apiKey, baseUrl, directUrl };
  };
  return {
    url: await listenOn(server),
    async [Symbol.asyncDispose]() {
      await closeServer(server);
      await Promise.all(cases.map((one) => one[Symbol.asyncDispose]()));
    },
  };
}
