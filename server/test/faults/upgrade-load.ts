import path from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApiResponse, client, SMALLEST } from '../client.ts';
import { createTestDatabase } from '../database.ts';
import { startServiceProcess } from '../service/service-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A key may make 30 requests in a minute. */
const ROUNDS_OF_KEY = 9;
const CUSTOMERS = 2;
/** Each create is rendered, which takes about a second of CPU time. */
const PAUSE_MS = 2000;

/** A database, and what starts processes of the service on it and sends them requests. */
export async function openDeployment(t: TestContext) {
  const cleanup = new AsyncDisposableStack(); // the last first
  t.after(() => cleanup.disposeAsync());
  const database = await createTestDatabase();
  cleanup.defer(() => database.close());
  const folder = cleanup.use(await temporaryFolder());
  const env = { DATABASE_URL: database.url, DATA_DIR: path.join(folder.path, 'data') };
  const start = async (own: Record<string, string>, program?: string[]) =>
    cleanup.use(await startServiceProcess({ ...env, ...own }, program));
  const startLoad = (urls: string[], newKey: () => Promise<string>) => {
    const load = startUpgradeLoad(newKey, urls);
    cleanup.defer(() => load.stop());
    return load;
  };
  return { database, env, folder: folder.path, cleanup, start, startLoad };
}

export type UpgradeLoad = ReturnType<typeof startUpgradeLoad>;

/**
 * Customers who create tasks and read their tasks and credits, one request after the other.
 * @param newKey gives the secret of an API key that was not used yet
 */
function startUpgradeLoad(newKey: () => Promise<string>, urls: string[]) {
  const failures: string[] = [];
  let [targets, accepted, slowest, turn] = [urls, 0, 0, 0];
  const underWay = new Set<Promise<unknown>>();
  let stopped = false;
  const measured = async (what: string, send: (url: string) => Promise<ApiResponse>) => {
    const start = performance.now();
    turn += 1;
    const url = targets[turn % targets.length] ?? '';
    const sent = send(url).catch((error: Error) => error);
    underWay.add(sent);
    const response = await sent;
    underWay.delete(sent);
    slowest = Math.max(slowest, (performance.now() - start) / 1000);
    if (!(response instanceof Error) && response.status < 300) return response;
    failures.push(`${what}: ${response instanceof Error ? response : JSON.stringify(response)}`);
    return undefined;
  };
  const customer = async () => {
    while (!stopped) {
      const secret = await newKey();
      for (let round = 0; round < ROUNDS_OF_KEY && !stopped; round += 1) {
        const created = await measured('create', (url) => client(url, secret).create(SMALLEST));
        if (created?.status === 202) accepted += 1;
        const id = String(created?.body.id);
        if (created) await measured('read', (url) => client(url, secret).task(id));
        await measured('credits', (url) => client(url, secret).credits());
        await delay(PAUSE_MS);
      }
    }
  };
  const running = Array.from({ length: CUSTOMERS }, customer);
  return {
    /**
     * Sends further requests to these addresses only. Resolves when those that were sent before
     * have their responses.
     */
    async use(next: string[]) {
      targets = next;
      await Promise.all(underWay);
    },
    accepted: () => accepted,
    /** Responses that were not 200 or 202, and requests without a response. */
    failures: () => failures,
    /** Seconds. */
    slowest: () => slowest,
    async stop() {
      stopped = true;
      await Promise.all(running);
    },
  };
}
