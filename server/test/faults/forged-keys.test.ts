import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, test } from 'node:test';
import { createKey, newSecret } from '../../src/accounts/api-keys.ts';
import { audit } from '../../src/operator/audit.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { LONG } from '../long.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** How many requests with invented keys are in flight at a time. */
const IN_FLIGHT = LONG ? 3000 : 500;
/** So many that neither of two keys exceeds its 30 requests. */
const READS_ALONE = 15;
const READS_BESIDE = 28;

const database = await createTestDatabase();
const folder = await temporaryFolder();
const service = await startServiceProcess({
  DATABASE_URL: database.url,
  DATA_DIR: folder.path,
  ROLES: 'api',
});
after(async () => {
  await service.kill('SIGTERM');
  await folder[Symbol.asyncDispose]();
  await database.close();
});

test(`a customer's requests pass beside ${IN_FLIGHT} requests with invented keys`, async (t) => {
  const { accountId, secret } = await makeCustomer(database.db, 0);
  const quietMs = await readMedian(service.url, [secret], READS_ALONE);
  const flood = startFlood(() => readCredits(service.url, newSecret()));
  t.after(() => flood.end());
  await flood.begun;
  const created = await createKey(database.db, { accountId });
  const firstMs = await timeOf(() => readCredits(service.url, created.secret));
  const busyMs = await readMedian(service.url, [secret, created.secret], READS_BESIDE);
  const { seconds, statuses } = await flood.end();
  assert.deepEqual([...statuses.keys()], [401]);
  assert.deepEqual(await audit(database.db), { ok: true, problems: [] });
  const junk = Math.round((statuses.get(401) ?? 0) / seconds);
  t.diagnostic(
    `median ${quietMs.toFixed(1)} ms alone, ${busyMs.toFixed(1)} ms beside ${junk} invented keys/s; ` +
      `first request of a new key ${firstMs.toFixed(0)} ms`,
  );
});

test('a customer reads beside an address that is over the limit of the website', async (t) => {
  const alone = await makeCustomer(database.db, 0);
  const beside = await makeCustomer(database.db, 0);
  const quietMs = await readMedian(service.url, [alone.secret], READS_ALONE);
  const flood = startFlood(() => get(`${service.url}/console/api/site`));
  t.after(() => flood.end());
  await flood.begun;
  const busyMs = await readMedian(service.url, [beside.secret], READS_BESIDE);
  const { seconds, statuses } = await flood.end();
  assert.deepEqual([...statuses.keys()].sort(), [200, 429]);
  assert.ok((statuses.get(200) ?? 0) <= 240 + 4 * seconds, `${statuses.get(200)} passed`);
  const refused = Math.round((statuses.get(429) ?? 0) / seconds);
  t.diagnostic(
    `median ${quietMs.toFixed(1)} ms alone, ${busyMs.toFixed(1)} ms beside ${refused} refused ` +
      `requests/s of an address, ${IN_FLIGHT} in flight`,
  );
});

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

/** The status of GET /credits. */
function readCredits(url: string, secret: string): Promise<number> {
  return get(`${url}/api/v1/credits`, { authorization: `Bearer ${secret}` });
}

function get(url: string, headers: Record<string, string> = {}): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = request(url, { agent, headers }, (response) => {
    response.resume().on('end', () => resolve(response.statusCode ?? 0));
  });
  sent.on('error', reject).end();
  return promise;
}

async function timeOf(read: () => Promise<number>): Promise<number> {
  const startedAt = performance.now();
  assert.equal(await read(), 200);
  return performance.now() - startedAt;
}

async function readMedian(url: string, secrets: string[], count: number): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) {
    times.push(await timeOf(() => readCredits(url, secrets[n % secrets.length] ?? '')));
  }
  return times.sort((a, b) => a - b)[Math.floor(count / 2)] ?? 0;
}

/** Sends requests, each as soon as the one before has its response. */
function startFlood(request: () => Promise<number>) {
  const statuses = new Map<number, number>();
  const startedAt = performance.now();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  let ended = false;
  const send = async () => {
    while (!ended) {
      const status = await request();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      begin();
    }
  };
  const senders = Array.from({ length: IN_FLIGHT }, send);
  return {
    /** The first responses have arrived. */
    begun,
    async end() {
      ended = true;
      await Promise.allSettled(senders);
      return { statuses, seconds: (performance.now() - startedAt) / 1000 };
    },
  };
}
