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

/** What clients saw while a fault lasted. */
export interface Observed {
  /** How many responses had each status, such as `credits 200`. */
  seen: Map<string, number>;
  /** The longest time to a response. */
  slowestSeconds: number;
}

/**
 * Sends reads until the fault is over, each client with its own account. The first two also create:
 * each create is repeated with its Idempotency-Key until it has a task, as the contract asks.
 * @returns what the clients saw, and the keys of their creates
 */
export async function loadDuring(
  options: { db: Database; service: ServiceProcess; clients: number },
  fault: (seen: Observed) => Promise<void>,
): Promise<Observed & { keys: string[] }> {
  const { db, service, clients } = options;
  const load: Observed = { seen: new Map(), slowestSeconds: 0 };
  const customers = await Promise.all(
    Array.from({ length: clients }, () => makeCustomer(db, CREDITS)),
  );
  const state = { isOver: false };
  const keys = customers.slice(0, CREATING).map(() => crypto.randomUUID());
  const running = customers.map(async ({ secret }, i) => {
    const api = client(service.url, secret);
    const key = keys[i];
    const create = key && createUntilTaken(load, () => api.create(SMALLEST, key));
    await delay((PAUSE_SECONDS * 1000 * i) / clients); // one after the other
    while (!state.isOver) {
      await observe(load, 'credits', () => api.credits());
      await delay(PAUSE_SECONDS * 1000);
    }
    await create;
  });
  try {
    await fault(load);
  } finally {
    state.isOver = true;
  }
  await Promise.all(running);
  return { ...load, keys };
}

async function createUntilTaken(load: Observed, send: () => Promise<ApiResponse>): Promise<void> {
  for (;;) {
    const { status, headers } = await observe(load, 'create', send);
    if (status !== 503) return;
    assert.ok(Number(headers.get('retry-after')) > 0, 'a 503 has a Retry-After');
    await delay(1500);
  }
}

async function observe(load: Observed, kind: string, send: () => Promise<ApiResponse>) {
  const startedAt = performance.now();
  const late = delay(PATIENCE_SECONDS * 1000, undefined, { ref: false }).then(() => {
    throw new Error(`a request (${kind}) had no response after ${PATIENCE_SECONDS} s`);
  });
  const response = await Promise.race([send(), late]);
  load.slowestSeconds = Math.max(load.slowestSeconds, (performance.now() - startedAt) / 1000);
  const name = `${kind} ${response.status}`;
  load.seen.set(name, (load.seen.get(name) ?? 0) + 1);
  return response;
}

/** Seconds until the service is ready, admits a request and completes a new task. */
export async function recoverySeconds(
  db: Database,
  service: ServiceProcess,
): Promise<{ ready: number; completed: number }> {
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  await until(
    () => readiness(service),
    (status) => status === 200,
  );
  const ready = seconds();
  const { secret } = await makeCustomer(db, CREDITS);
  const key = crypto.randomUUID();
  await until(
    () => client(service.url, secret).create(SMALLEST, key),
    ({ status }) => status === 202 || status === 200,
  );
  await completed(db, key);
  return { ready, completed: seconds() };
}

/** The status of /readyz. */
export async function readiness(service: ServiceProcess): Promise<number> {
  return (await fetch(`${service.url}/readyz`)).status;
}

/** Asserts that no client got a 500, that each create ended in one video, and that the books agree. */
export async function assertSound(
  db: Database,
  { seen, keys }: Observed & { keys: string[] },
): Promise<void> {
  const statuses = new Set([...seen.keys()].map((name) => name.split(' ')[1] ?? ''));
  for (const status of statuses) assert.ok(['200', '202', '503'].includes(status), status);
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

/** Prints what clients saw and how long the recovery took. */
export function summary(load: Observed, recovery: { ready: number; completed: number }): string {
  const seen = [...load.seen].map(([name, count]) => `${name}: ${count}`).sort();
  return [
    ...seen,
    `slowest response ${load.slowestSeconds.toFixed(1)} s`,
    `ready again after ${recovery.ready.toFixed(1)} s`,
    `a new task completed after ${recovery.completed.toFixed(1)} s`,
  ].join(', ');
}
