import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement } from '../../server/src/database/database.ts';
import { type FundedKey, makeFundedKeys, openBenchSetup } from '../bench-setup.ts';
import { type HttpConnection, openHttpConnection } from '../http-connection.ts';
import { quantilesOf } from '../load.ts';
import { cpuSeconds, residentMemory } from '../process-usage.ts';

export const WAITING_READS = 2000;
/** Fewer than may wait per key (server/src/tasks/waiting.ts). */
const READS_OF_KEY = 15;
const SETTLE_SECONDS = 3;
const QUIET_SECONDS = 6;
/** The tasks end in transactions, a few at a time, as those of busy workers. */
const ENDS_TOGETHER = 20;
const PAUSE_SECONDS = 0.1;

interface Target extends FundedKey {
  taskId: string;
}

const INSERT = statement(
  'bench_waited_tasks',
  `insert into tasks (id, account_id, surface, idempotency_key, phase, request, seed, credits,
     price_version, provider, wait_until, announced_at, accepted_at, due_at)
   select id, account_id, 'api', id, 'generating', '{"mode": "text-to-video",
     "model": "video-2.0-mini", "prompt": "a lighthouse"}', 1, 60, 1, 'local', clock_now(),
     clock_now(), clock_now(), clock_now() + interval '1 hour'
   from unnest($1::text[], $2::text[]) as made (id, account_id)`,
);

const END = statement(
  'bench_end_tasks',
  `update tasks set phase = 'failed', due_at = null, error_code = 'provider_failed',
     error_message = 'It failed.', updated_at = clock_now() where id = any($1)`,
);

/** What reads that wait cost, and the time from the commit of a task's end to the response. */
export async function measureWaitingReads() {
  await using bench = await openBenchSetup();
  const accounts = Math.ceil(WAITING_READS / READS_OF_KEY);
  const keys = await makeFundedKeys(bench.db, { accounts, keysEach: 1 });
  const targets = await makeTargets(bench.db, keys);
  await using service = await bench.startService({ ROLES: 'api' });
  const url = new URL(service.url);
  await delay(SETTLE_SECONDS * 1000);
  const { nowBytes: emptyBytes } = await residentMemory(service.pid);
  const connections = await Promise.all(targets.map(() => openHttpConnection(url)));
  const reads = connections.map((connection, i) => startRead(connection, url, targets[i]));
  await delay(SETTLE_SECONDS * 1000);
  const { nowBytes: fullBytes } = await residentMemory(service.pid);
  const cpuBefore = await cpuSeconds(service.pid);
  await delay(QUIET_SECONDS * 1000);
  const cpuShare = ((await cpuSeconds(service.pid)) - cpuBefore) / QUIET_SECONDS;
  const endedAt = await endAll(bench.db, targets);
  const arrivedAt = await Promise.all(reads);
  for (const connection of connections) connection.close();
  const milliseconds = arrivedAt.map((at, i) => at - (endedAt.get(targets[i]?.taskId ?? '') ?? 0));
  // A response may overtake that of the commit, but not by much.
  if (Math.min(...milliseconds) < -100) throw new Error('a read did not wait');
  return {
    cpuShare, // of one core, while nothing happens, without the database
    bytesEach: (fullBytes - emptyBytes) / WAITING_READS,
    ...quantilesOf(milliseconds),
  };
}

async function makeTargets(db: Database, keys: FundedKey[]): Promise<Target[]> {
  const targets = Array.from({ length: WAITING_READS }, (_, i) => ({
    ...(keys[i % keys.length] as FundedKey),
    taskId: `task_waited${i}`,
  }));
  const ids = targets.map(({ taskId }) => taskId);
  await db.query(INSERT, [ids, targets.map(({ accountId }) => accountId)]);
  return targets;
}

/** @returns when the response had arrived */
async function startRead(connection: HttpConnection, url: URL, target?: Target): Promise<number> {
  const request =
    `GET /api/v1/tasks/${target?.taskId} HTTP/1.1\r\nHost: ${url.host}\r\n` +
    `Authorization: Bearer ${target?.secret}\r\nPrefer: wait=30\r\n\r\n`;
  const status = await connection.send(request);
  if (status !== 200) throw new Error(`a read that waits got ${status}`);
  return performance.now();
}

/** @returns when the end of each task was committed */
async function endAll(db: Database, targets: Target[]): Promise<Map<string, number>> {
  const endedAt = new Map<string, number>();
  const ids = targets.map(({ taskId }) => taskId);
  while (ids.length > 0) {
    const together = ids.splice(0, ENDS_TOGETHER);
    await db.query(END, [together]);
    for (const id of together) endedAt.set(id, performance.now());
    await delay(PAUSE_SECONDS * 1000);
  }
  return endedAt;
}
