import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase, statement } from '../../server/src/database/database.ts';
import { createLog } from '../../server/src/kernel/log.ts';
import { temporaryFolder } from '../../server/test/temporary-folder.ts';
import {
  type BenchSetup,
  type Clients,
  makeFundedKeys,
  openBenchSetup,
  startClients,
} from '../bench-setup.ts';
import type { EndToEndFloorSetup } from '../floors/end-to-end-floor.ts';
import type { Target } from '../http-clients.ts';
import { withInstantProvider } from '../instant-provider.ts';
import { median, spread } from '../load.ts';
import { serverPid, treeSeconds } from '../process-usage.ts';
import { type ProgramAddress, startProgram } from '../program.ts';

/** How many tasks are under way: each completed one is replaced by a new create. */
const LIVE_TASKS = 150;
const CLIENTS = 8;
const PAUSE_SECONDS = 0.05;
/** At the start of each round, until as many tasks end as begin. */
const FILL_SECONDS = 3;
/** Before the first round, code is compiled and statements are prepared. */
const WARM_UP_SECONDS = 2;
/** How long a side may take to complete the tasks that are left at the end of a round. */
const DRAIN_SECONDS = 120;
const KEY_COUNTS = { accounts: 1000, keysEach: 15 };
/** Rounds of the service and of its floor, in turns. */
export const END_TO_END = { rounds: 4, seconds: 8 };

/**
 * Every task is submitted over HTTP to a simulated provider, read, downloaded, checked, stored,
 * synced and captured; the floor does the same without the ledger and without exactly-once.
 */
export async function measureEndToEnd() {
  return withInstantProvider(async (provider) => {
    await using bench = await openBenchSetup();
    await using service = await openService(bench, provider.env);
    await using floor = await openFloor(bench, provider.url);
    const server = await serverPid(bench.db);
    const results: Array<{ service: Round; floor: Round }> = [];
    const loadBoth = async (seconds: number) => ({
      service: await loadSide(service, server, seconds),
      floor: await loadSide(floor, server, seconds),
    });
    await loadBoth(WARM_UP_SECONDS);
    while (results.length < END_TO_END.rounds) results.push(await loadBoth(END_TO_END.seconds));
    return summarize(results, await service.times());
  });
}

/** The service or its floor. */
interface Side {
  pid: number;
  clients: Clients;
  /** The tasks that have ended, and those that have not. @throws when one could not be completed */
  count(): Promise<Counts>;
}

interface Counts {
  completed: number;
  live: number;
}

const COUNT = statement(
  'bench_count',
  `select count(*) filter (where phase = 'completed')::int as completed,
     count(*) filter (where due_at is not null)::int as live,
     count(*) filter (where phase in ('failed', 'held'))::int as bad from tasks`,
);

const TIMES = statement(
  'bench_completed_times',
  `select percentile_cont(array[0.5, 0.99]) within group
     (order by extract(epoch from updated_at - created_at) * 1000) as times
   from tasks where phase = 'completed'`,
);

async function openService(bench: BenchSetup, env: Record<string, string>) {
  const { db } = bench;
  const keys = await makeFundedKeys(db, KEY_COUNTS);
  const service = await bench.startService(env);
  const clients = await startCreates(service.url, keys);
  return {
    pid: service.pid,
    clients,
    async count() {
      const [row] = await db.query<Counts & { bad: number }>(COUNT);
      if (!row || row.bad > 0) throw new Error(`${row?.bad} tasks were not completed`);
      return row;
    },
    async times() {
      const [row] = await db.query<{ times: [number, number] }>(TIMES);
      return row?.times ?? [Number.NaN, Number.NaN];
    },
    async [Symbol.asyncDispose]() {
      await clients[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

const FLOOR_DATABASE = statement('', 'create database end_to_end_floor');
const FLOOR_COUNT = statement(
  'bench_floor_count',
  `select count(*) filter (where status = 'completed')::int as completed,
     count(*) filter (where status <> 'completed')::int as live from videos`,
);

/** A database of its own on the same server, and a folder on the same disk. */
async function openFloor(bench: BenchSetup, providerUrl: string) {
  await bench.db.query(FLOOR_DATABASE);
  const url = new URL(bench.databaseUrl);
  url.pathname = '/end_to_end_floor';
  const databaseUrl = url.href;
  const folder = await temporaryFolder();
  const floor = await startProgram<EndToEndFloorSetup, object, ProgramAddress>(
    'floors/end-to-end-floor.ts',
    { databaseUrl, providerUrl, folder: folder.path },
  );
  const { url: apiUrl, pid } = await floor.send({});
  const clients = await startCreates(apiUrl, [{ secret: 'bench' }]);
  const db = openDatabase({ url: databaseUrl, connections: 1, log: createLog({ level: 'warn' }) });
  return {
    pid,
    clients,
    async count() {
      const [row] = await db.query<Counts>(FLOOR_COUNT);
      if (!row) throw new Error('a count returned no row');
      return row;
    },
    async [Symbol.asyncDispose]() {
      await db.close();
      await clients[Symbol.asyncDispose]();
      await floor[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

function startCreates(url: string, targets: Target[]) {
  return startClients({ url, clients: CLIENTS, act: 'create', targets });
}

/** What one side did in one round. */
interface Round {
  perSecond: number;
  cpuMilliseconds: number;
}

/** Keeps tasks of one side under way, then waits until all of them have ended. */
async function loadSide(side: Side, server: number, seconds: number): Promise<Round> {
  await keepBusy(side, FILL_SECONDS);
  const before = await meter(side, server);
  await keepBusy(side, seconds);
  const after = await meter(side, server);
  const completed = after.completed - before.completed;
  const end = performance.now() + DRAIN_SECONDS * 1000;
  for (let live = 1; live > 0; { live } = await side.count()) {
    if (performance.now() > end) throw new Error(`${live} tasks have not ended`);
    await delay(PAUSE_SECONDS * 1000);
  }
  return {
    perSecond: completed / (after.seconds - before.seconds),
    cpuMilliseconds: ((after.cpuSeconds - before.cpuSeconds) * 1000) / completed,
  };
}

async function keepBusy({ clients, count }: Side, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    const missing = LIVE_TASKS - (await count()).live;
    if (missing > 0) await clients.send({ acts: missing });
    await delay(PAUSE_SECONDS * 1000);
  }
}

async function meter({ pid, count }: Side, server: number) {
  const cpuSeconds = (await treeSeconds(pid)) + (await treeSeconds(server));
  const { completed } = await count();
  return { cpuSeconds, completed, seconds: performance.now() / 1000 };
}

function summarize(
  rounds: Array<{ service: Round; floor: Round }>,
  [p50Milliseconds, p99Milliseconds]: [number, number],
) {
  const service = rounds.map((round) => round.service);
  const floor = rounds.map((round) => round.floor);
  const cpuOf = (sides: Round[]) => median(sides.map(({ cpuMilliseconds }) => cpuMilliseconds));
  return {
    perSecond: spread(service.map(({ perSecond }) => perSecond)),
    floorPerSecond: median(floor.map(({ perSecond }) => perSecond)),
    ratio: spread(rounds.map((round) => round.service.perSecond / round.floor.perSecond)),
    cpu: {
      serviceMilliseconds: cpuOf(service),
      floorMilliseconds: cpuOf(floor),
      ratio: spread(
        rounds.map((round) => round.service.cpuMilliseconds / round.floor.cpuMilliseconds),
      ),
    },
    p50Milliseconds,
    p99Milliseconds,
  };
}
