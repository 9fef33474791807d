import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { test } from 'node:test';
import { createKey, newSecret } from '../../src/accounts/api-keys.ts';
import { audit } from '../../src/operator/audit.ts';
import { makeCustomer } from '../customer.ts';
import { createTestDatabase } from '../database.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** How many requests with invented keys are in flight at a time. */
const IN_FLIGHT = Number(process.env.FRAMEWRIGHT_FORGED_IN_FLIGHT ?? 500);
/** So many that neither of two keys exceeds its 30 requests. */
const READS_ALONE = 15;
const READS_BESIDE = 28;

test(`a customer's requests pass beside ${IN_FLIGHT} requests with invented keys`, async (t) => {
  const database = await createTestDatabase();
  await using folder = await temporaryFolder();
  await using service = await startServiceProcess({
    ...{ DATABASE_URL: database.url, DATA_DIR: folder.path, ROLES: 'api' },
  });
  const { accountId, secret } = await makeCustomer(database.db, 0);
  const quietMs = await readMedian(service.url, [secret], READS_ALONE);
  const flood = startFlood(service.url);
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
  await service.kill('SIGTERM');
  await database.close();
});

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

/** The status of GET /credits. */
function readCredits(url: string, secret: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const headers = { authorization: `Bearer ${secret}` };
  const sent = request(`${url}/api/v1/credits`, { agent, headers }, (response) => {
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

/** Sends requests with invented keys, each as soon as the one before has its response. */
function startFlood(url: string) {
  const statuses = new Map<number, number>();
  const startedAt = performance.now();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  let ended = false;
  const send = async () => {
    while (!ended) {
      const status = await readCredits(url, newSecret());
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
