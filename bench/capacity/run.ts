/**
 * `node bench/capacity/run.ts`: what creates at some rates, and tasks that are kept, cost; from the
 * measured costs of units (units.json). The page is docs/operators/scaling.md.
 */
import { readFile } from 'node:fs/promises';
import type { Units } from './measure.ts';

/** What was assumed, not measured. */
const ASSUMED = {
  /** How often a client reads a task before it has ended. */
  readsPerTask: 20,
  /** Between the acceptance of a job and its end. */
  jobSeconds: 180,
  retentionDays: 30,
  historyDays: 90,
  videoMegabytes: 8,
  /** The share of a core that may be used on average. */
  utilization: 0.6,
  /** CPU time of the child that checks one output and draws its poster: 5 s of 720p. */
  decodeMs: 25,
};

/** One large Postgres server, and what one process can do. */
const LIMITS = { databaseCores: 64, walMegabytesPerSecond: 300, connections: 1000 };

const RATES = [1, 100, 10_000];
const KEPT = 100e6;
const DAY = 86_400;
/** What HISTORY_DAYS deletes. */
const HISTORY = ['task_history', 'evidence'];

const text = await readFile(new URL('units.json', import.meta.url), 'utf8');
const units = JSON.parse(text) as Units;
const historyBytes = sumOf((table) => HISTORY.includes(table));
const keptBytes = sumOf((table) => !HISTORY.includes(table));

function sumOf(isWanted: (table: string) => boolean): number {
  const wanted = Object.entries(units.bytes).filter(([table]) => isWanted(table));
  return wanted.reduce((sum, [, bytes]) => sum + bytes, 0);
}

/** What a rate of creates per second needs. */
function needs(rate: number) {
  const { readsPerTask: reads, utilization, decodeMs, jobSeconds } = ASSUMED;
  const { create, read, steps } = units;
  const cores = (ms: number) => (rate * ms) / 1000 / utilization;
  const api = cores(create.processMs + reads * read.processMs);
  const worker = cores(steps.processMs);
  const processes = { api: Math.ceil(api), worker: Math.ceil(worker) };
  const { api: apiConnections, worker: workerConnections } = units.connections;
  return {
    apiCores: api,
    workerCores: worker,
    decodeCores: cores(decodeMs),
    databaseCores: cores(create.databaseMs + reads * read.databaseMs + steps.databaseMs),
    walMegabytes: (rate * (create.walBytes + reads * read.walBytes + steps.walBytes)) / 1e6,
    connections: processes.api * apiConnections + processes.worker * workerConnections,
    liveTasks: rate * jobSeconds,
    historyGigabytes: (rate * DAY * ASSUMED.historyDays * historyBytes) / 1e9,
    gigabytesPerYear: (rate * DAY * 365 * keptBytes) / 1e9,
    videoTerabytes: (rate * DAY * ASSUMED.retentionDays * ASSUMED.videoMegabytes) / 1e6,
  };
}

type Needs = ReturnType<typeof needs>;

const ROWS: Array<[string, keyof Needs]> = [
  ['cores for api processes', 'apiCores'],
  ['cores for worker processes', 'workerCores'],
  ['cores that check outputs', 'decodeCores'],
  ['cores for Postgres', 'databaseCores'],
  ['WAL, MB/s', 'walMegabytes'],
  ['connections without a pooler', 'connections'],
  ['live tasks', 'liveTasks'],
  [`history of ${ASSUMED.historyDays} days, GB`, 'historyGigabytes'],
  ['tasks, keys and transfers, GB a year', 'gigabytesPerYear'],
  [`videos kept ${ASSUMED.retentionDays} days, TB`, 'videoTerabytes'],
];

function print(line = ''): void {
  process.stdout.write(`${line}\n`);
}

function figure(value: number): string {
  const digits = value < 10 ? 2 : 3;
  return Number(value.toPrecision(digits)).toLocaleString('en-US', { maximumFractionDigits: 4 });
}

print(`Units of ${units.measuredAt}: ${units.machine}`);
print();
print(`| creates per second | ${RATES.map(figure).join(' | ')} |`);
print(`|---|${'---:|'.repeat(RATES.length)}`);
const all = RATES.map(needs);
for (const [name, key] of ROWS)
  print(`| ${name} | ${all.map((n) => figure(n[key])).join(' | ')} |`);
print();

/** The creates per second at which one Postgres server reaches a limit, the lowest first. */
const one = needs(1);
const saturations: Array<[string, number]> = [
  [`${LIMITS.databaseCores} cores of Postgres`, LIMITS.databaseCores / one.databaseCores],
  [`${LIMITS.walMegabytesPerSecond} MB/s of WAL`, LIMITS.walMegabytesPerSecond / one.walMegabytes],
  [`${LIMITS.connections} connections (then a pooler)`, connectionLimit()],
];
print('One Postgres server reaches, at this many creates per second:');
print();
for (const [name, rate] of saturations.toSorted(([, a], [, b]) => a - b)) {
  print(`- ${figure(rate)}: ${name}`);
}
print();
print(`${figure(KEPT)} tasks kept, GB, indexes included:`);
print();
print('| with their history | without |');
print('|---:|---:|');
const gigabytes = [keptBytes + historyBytes, keptBytes].map((b) => figure((b * KEPT) / 1e9));
print(`| ${gigabytes.join(' | ')} |`);

/** The lowest rate whose processes open too many connections. */
function connectionLimit(): number {
  for (let rate = 1; rate < 1e6; rate = Math.ceil(rate * 1.05)) {
    if (needs(rate).connections > LIMITS.connections) return rate;
  }
  return Number.POSITIVE_INFINITY;
}
