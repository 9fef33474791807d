import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../../src/database/database.ts';
import { audit } from '../../src/operator/audit.ts';
import { type ApiResponse, client, SMALLEST } from '../client.ts';
import { makeCustomer } from '../customer.ts';
import { type KeyTask, tasksOfKey } from '../service/end-state.ts';
import type { ServiceProcess } from '../service/service-process.ts';
import { until } from '../until.ts';

const CREDITS = 60;
/** Between two reads of one client. A key has 30 requests a minute, however long the fault lasts. */
const PAUSE_SECONDS = 2.2;
/** How many of the clients create: each video takes about a second of computing. */
const CREATING = 2;
/** A request that is not answered by then counts as never answered. */
const PATIENCE_SECONDS = 30;

/** What clients saw while a fault lasted, such as `credits 200`. */
type Seen = Set<string>;

/**
 * Sends reads until the fault is over, each client with its own account. The first two also create:
 * each create is repeated with its Idempotency-Key until it has a task, as the contract asks.
 * @returns what they saw, and the keys of their creates
 */
export async function loadDuring(
  options: { db: Database; service: ServiceProcess; clients: number },
  fault: (seen: Seen) => Promise<void>,
): Promise<{ seen: Seen; keys: string[] }> {
  const { db, service, clients } = options;
  const seen: Seen = new Set();
  const customers = await Promise.all(
    Array.from({ length: clients }, () => makeCustomer(db, CREDITS)),
  );
  const state = { isOver: false };
  const keys = customers.slice(0, CREATING).map(() => crypto.randomUUID());
  const running = customers.map(async ({ secret }, i) => {
    const api = client(service.url, secret);
    const key = keys[i];
    const create = key && createUntilTaken(seen, () => api.create(SMALLEST, key));
    await delay((PAUSE_SECONDS * 1000 * i) / clients); // one after the other
    while (!state.isOver) {
      await observe(seen, 'credits', () => api.credits());
      await delay(PAUSE_SECONDS * 1000);
    }
    await create;
  });
  try {
    await fault(seen);
  } finally {
    state.isOver = true;
  }
  await Promise.all(running);
  return { seen, keys };
}

async function createUntilTaken(seen: Seen, send: () => Promise<ApiResponse>): Promise<void> {
  for (;;) {
    const { status, headers } = await observe(seen, 'create', send);
    if (status !== 503) return;
    assert.ok(Number(headers.get('retry-after')) > 0, 'a 503 has a Retry-After');
    await delay(1500);
  }
}

async function observe(seen: Seen, kind: string, send: () => Promise<ApiResponse>) {
  const late = delay(PATIENCE_SECONDS * 1000, undefined, { ref: false }).then(() => {
    throw new Error(`a request (${kind}) had no response after ${PATIENCE_SECONDS} s`);
  });
  const response = await Promise.race([send(), late]);
  seen.add(`${kind} ${response.status}`);
  return response;
}

/** Waits until the service is ready, admits a request and completes a new task. */
export async function recovered(db: Database, service: ServiceProcess): Promise<void> {
  await until(
    () => readiness(service),
    (status) => status === 200,
  );
  const { secret } = await makeCustomer(db, CREDITS);
  const key = crypto.randomUUID();
  await until(
    () => client(service.url, secret).create(SMALLEST, key),
    ({ status }) => status === 202 || status === 200,
  );
  await completed(db, key);
}

/** The status of /readyz. */
export async function readiness(service: ServiceProcess): Promise<number> {
  return (await fetch(`${service.url}/readyz`)).status;
}

/** Asserts that no client got a 500, that each create ended in one video, and that the books agree. */
export async function assertSound(
  db: Database,
  { seen, keys }: { seen: Seen; keys: string[] },
): Promise<void> {
  for (const name of seen) assert.match(name, / (200|202|503)$/);
  for (const key of keys) {
    const task = await completed(db, key);
    assert.deepEqual(task?.jobs, ['succeeded'], `${key} has one job`);
  }
  assert.deepEqual(await audit(db), { ok: true, problems: [] });
}

async function completed(db: Database, key: string): Promise<KeyTask | undefined> {
  const [last] = await until(
    () => tasksOfKey(db, key),
    ([task]) => task?.phase === 'completed',
  );
  return last;
}
