import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement } from '../../server/src/database/database.ts';
import { makeVideo } from '../../server/test/media/media-files.ts';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import { startSimulator } from '../../simulators/kit/process.ts';
import { makeFundedKeys, openBenchSetup } from '../bench-setup.ts';
import type { HttpClientsLoad, HttpClientsSetup } from '../http-clients.ts';
import { startProgram } from '../program.ts';
import type { Sample } from '../sample.ts';

/** What the simulated provider returns for each job: 6 frames, 9 kB. */
const OUTPUT = { width: 64, height: 64, seconds: 0.25, audio: null } as const;
/** How many tasks are under way: each completed one is replaced by a new create. */
const LIVE_TASKS = 150;
const CLIENTS = 8;
const PAUSE_SECONDS = 0.05;
const WARM_UP_SECONDS = 5;
/** The minute is cut into parts of this length, to see whether the rate stays the same. */
const PART_SECONDS = 10;
const KEY_COUNTS = { accounts: 1000, keysEach: 15 };

/** Tasks from their create to their completion, with a provider that ends each job at once. */
export interface EndToEnd {
  perSecond: number;
  slowestPartPerSecond: number;
  fastestPartPerSecond: number;
  p50Milliseconds: number;
  p99Milliseconds: number;
}

/**
 * Every task is submitted over HTTP to a simulated provider, read, downloaded, decoded in full,
 * stored, synced and captured.
 */
export async function measureEndToEnd(seconds: number): Promise<EndToEnd> {
  return withInstantProvider((env) => withProvider(env, seconds));
}

/** A simulated fal whose jobs end at once. @param work gets the variables of a service with it */
export async function withInstantProvider<T>(
  work: (env: Record<string, string>) => Promise<T>,
): Promise<T> {
  await using folder = await temporaryFolder();
  const outputFile = path.join(folder.path, 'output.mp4');
  await makeVideo(outputFile, OUTPUT);
  const options = ['--job-seconds', '0', '--output-file', outputFile];
  const provider = await startSimulator('fal', folder.path, options);
  try {
    return await work({
      ROLES: 'api,worker',
      CREATE_WAIT_SECONDS: '0',
      PROVIDER: 'fal',
      FAL_API_KEY: 'bench',
      FAL_QUEUE_URL: provider.url,
      PROVIDER_ALLOW: new URL(provider.url).host,
      LOG_LEVEL: 'warn',
    });
  } finally {
    await provider.kill();
  }
}

async function withProvider(env: Record<string, string>, seconds: number): Promise<EndToEnd> {
  await using bench = await openBenchSetup();
  const keys = await makeFundedKeys(bench.db, KEY_COUNTS);
  await using service = await bench.startService(env);
  const targets = keys.map(({ secret }) => ({ secret, taskId: '' }));
  const setup = { url: service.url, clients: CLIENTS, act: 'create', targets } as const;
  await using clients = await startProgram<HttpClientsSetup, HttpClientsLoad, Sample>(
    'http-clients.ts',
    setup,
  );
  const keepBusy = async (forSeconds: number) => {
    const end = performance.now() + forSeconds * 1000;
    while (performance.now() < end) {
      const missing = LIVE_TASKS - (await countLive(bench.db));
      if (missing > 0) await clients.send({ acts: missing });
      await delay(PAUSE_SECONDS * 1000);
    }
  };
  await keepBusy(WARM_UP_SECONDS);
  const start = await now(bench.db);
  await keepBusy(seconds);
  return readResult(bench.db, start, seconds);
}

const LIVE = statement('bench_live', 'select count(*)::int as count from tasks where due_at > $1');
const NOW = statement('bench_now', 'select clock_now() as now');

/** A live task is one that has a due time. */
async function countLive(db: Database): Promise<number> {
  const [row] = await db.query<{ count: number }>(LIVE, ['-infinity']);
  return row?.count ?? 0;
}

async function now(db: Database): Promise<Date> {
  const [row] = await db.query<{ now: Date }>(NOW);
  if (!row) throw new Error('clock_now() returned no row');
  return row.now;
}

const PARTS = statement(
  'bench_completed_parts',
  `select floor(extract(epoch from updated_at - $1) / $2)::int as part, count(*)::int as count
   from tasks where phase = 'completed' and updated_at >= $1
     and updated_at < $1 + $3 * interval '1 second'
   group by 1 order by 1`,
);

const TIMES = statement(
  'bench_completed_times',
  `select percentile_cont(array[0.5, 0.99]) within group
     (order by extract(epoch from updated_at - created_at) * 1000) as times
   from tasks where phase = 'completed' and updated_at >= $1
     and updated_at < $1 + $2 * interval '1 second'`,
);

const NOT_COMPLETED = statement(
  'bench_not_completed',
  `select phase, error_message, count(*)::int as count from tasks
   where phase in ('failed', 'held') group by 1, 2`,
);

async function readResult(db: Database, start: Date, seconds: number): Promise<EndToEnd> {
  const bad = await db.query(NOT_COMPLETED);
  if (bad.length > 0) throw new Error(`not all tasks were completed: ${JSON.stringify(bad)}`);
  const partSeconds = Math.min(PART_SECONDS, seconds);
  const parts = await db.query<{ count: number }>(PARTS, [start, partSeconds, seconds]);
  const [row] = await db.query<{ times: [number, number] }>(TIMES, [start, seconds]);
  const rates = parts.map(({ count }) => count / partSeconds);
  const completed = parts.reduce((sum, { count }) => sum + count, 0);
  return {
    perSecond: completed / seconds,
    slowestPartPerSecond: Math.min(...rates),
    fastestPartPerSecond: Math.max(...rates),
    p50Milliseconds: row?.times[0] ?? Number.NaN,
    p99Milliseconds: row?.times[1] ?? Number.NaN,
  };
}
