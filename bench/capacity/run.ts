/**
 * `node bench/capacity/run.ts`: what creates at some rates, and tasks that are kept, cost; from the
 * measured costs of units (units.json). The page is docs/operators/scaling.md.
 */
import { readFile } from 'node:fs/promises';

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
  /** CPU time of the children that check, sign and draw the poster of one output: 5 s of 720p. */
  outputMs: 36,
  /** Database connections of a process under load. */
  connections: { api: 5, worker: 25 },
};

/** One large Postgres server, and what one process can do. */
const LIMITS = { databaseCores: 64, walMegabytesPerSecond: 300, connections: 1000 };

const RATES = [1, 100, 10_000];
const KEPT = 100e6;
const DAY = 86_400;
/**
 * What a completed text-to-video task keeps, indexes included, whatever the machine: measured by
 * 20,000 copies of one, 2026-11-22.
 */
const BYTES = {
  /** HISTORY_DAYS deletes it. */
  history: 941,
  /** tasks 1,890, ledger_transfers 904, attempts 644, stored_objects 357, idempotency_keys 310 */
  kept: 4105,
};

/** What one unit of work costs; `steps` are all of a task after its create, without decoding. */
interface Units {
  measuredAt: string;
  machine: string;
  create: Cost;
  read: Cost;
  steps: Cost;
}

interface Cost {
  /** CPU time of the service's process. */
  processMs: number;
  /** CPU time of all processes of Postgres. */
  databaseMs: number;
  walBytes: number;
}

const text = await readFile(new URL('units.json', import.meta.url), 'utf8');
const units = JSON.parse(text) as Units;

/** The hardware for this many creates per second. */
function needs(rate: number) {
  const { readsPerTask: reads, utilization, outputMs, historyDays, retentionDays } = ASSUMED;
  const { connections } = ASSUMED;
  const { create, read, steps } = units;
  const cores = (ms: number) => (rate * ms) / 1000 / utilization;
  const api = cores(create.processMs + reads * read.processMs);
  const worker = cores(steps.processMs);
  const walBytes = create.walBytes + reads * read.walBytes + steps.walBytes;
  return {
    'cores for api processes': api,
    'cores for worker processes': worker,
    'cores that check and sign outputs': cores(outputMs),
    'cores for Postgres': cores(create.databaseMs + reads * read.databaseMs + steps.databaseMs),
    'WAL, MB/s': (rate * walBytes) / 1e6,
    'connections without a pooler':
      Math.ceil(api) * connections.api + Math.ceil(worker) * connections.worker,
    'live tasks': rate * ASSUMED.jobSeconds,
    [`history of ${historyDays} days, GB`]: (rate * DAY * historyDays * BYTES.history) / 1e9,
    'tasks, keys and transfers, GB a year': (rate * DAY * 365 * BYTES.kept) / 1e9,
    [`videos kept ${retentionDays} days, TB`]:
      (rate * DAY * retentionDays * ASSUMED.videoMegabytes) / 1e6,
  };
}

function figure(value: number): string {
  const digits = value < 10 ? 2 : 3;
  return Number(value.toPrecision(digits)).toLocaleString('en-US', { maximumFractionDigits: 4 });
}

/** The lowest rate whose processes open too many connections. */
function connectionLimit(): number {
  let rate = 1;
  while (needs(rate)['connections without a pooler'] <= LIMITS.connections)
    rate = Math.ceil(rate * 1.05);
  return rate;
}

const all = RATES.map((rate) => Object.entries(needs(rate)));
const rows = (all[0] ?? []).map(([name], i) => [
  name,
  ...all.map((one) => figure(one[i]?.[1] ?? 0)),
]);
const one = needs(1);
/** The creates per second at which one Postgres server reaches a limit. */
const limits: Array<[string, number]> = [
  [`${LIMITS.databaseCores} cores of Postgres`, LIMITS.databaseCores / one['cores for Postgres']],
  [`${LIMITS.walMegabytesPerSecond} MB/s of WAL`, LIMITS.walMegabytesPerSecond / one['WAL, MB/s']],
  [`${LIMITS.connections} connections (then a pooler)`, connectionLimit()],
];
const gigabytes = [BYTES.kept + BYTES.history, BYTES.kept].map((b) => figure((b * KEPT) / 1e9));
process.stdout.write(`Units of ${units.measuredAt}: ${units.machine}

| creates per second | ${RATES.map(figure).join(' | ')} |
|---|${'---:|'.repeat(RATES.length)}
${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}

One Postgres server reaches, at this many creates per second:

${limits
  .toSorted(([, a], [, b]) => a - b)
  .map(([name, rate]) => `- ${figure(rate)}: ${name}`)
  .join('\n')}

${figure(KEPT)} tasks take ${gigabytes[0]} GB, indexes included, and ${gigabytes[1]} without their history.
`);
