/**
 * `node bench/capacity.ts`: what creates at some rates, and tasks that are kept, cost; calculated
 * from the measured costs of units. The page is docs/operators/scaling.md.
 */

/** What was assumed, not measured. */
const ASSUMED = {
  /** How often a client reads a task before it has ended. */
  reads: 20,
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
const DAY = 86_400;

/**
 * What one unit of work costs in CPU time of the service's process and of all those of Postgres, and
 * in WAL. `steps` are all of a task after its create, without decoding.
 */
const UNITS = {
  machine: '2 cores, AMD EPYC, Node v26.10.0, 2026-11-22',
  create: { processMs: 0.496, databaseMs: 0.363, walBytes: 2120 },
  read: { processMs: 0.152, databaseMs: 0.058, walBytes: 4.47 },
  steps: { processMs: 17.5, databaseMs: 11.7, walBytes: 9710 },
};

/**
 * What a completed text-to-video task keeps, indexes included, whatever the machine; HISTORY_DAYS
 * deletes `history`. Measured by 20,000 copies of one, 2026-11-22.
 */
const BYTES = { history: 941, kept: 4105 };

/** The hardware for this many creates per second. */
function needs(rate: number) {
  const { reads, utilization, connections, historyDays, retentionDays } = ASSUMED;
  const { create, read, steps } = UNITS;
  const cores = (ms: number) => (rate * ms) / 1000 / utilization;
  const api = cores(create.processMs + reads * read.processMs);
  const worker = cores(steps.processMs);
  return {
    'cores for api processes': api,
    'cores for worker processes': worker,
    'cores that check and sign outputs': cores(ASSUMED.outputMs),
    'cores for Postgres': cores(create.databaseMs + reads * read.databaseMs + steps.databaseMs),
    'WAL, MB/s': (rate * (create.walBytes + reads * read.walBytes + steps.walBytes)) / 1e6,
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
function connectionLimit(rate = 1): number {
  const isReached = needs(rate)['connections without a pooler'] > LIMITS.connections;
  return isReached ? rate : connectionLimit(Math.ceil(rate * 1.05));
}

const all = RATES.map((rate) => Object.values(needs(rate)));
const one = needs(1);
const rows = Object.keys(one).map((name, i) => [name, ...all.map((of) => figure(of[i] ?? 0))]);
/** The creates per second at which one Postgres server reaches a limit. */
const limits: Array<[string, number]> = [
  [`${LIMITS.connections} connections (then a pooler)`, connectionLimit()],
  [`${LIMITS.databaseCores} cores of Postgres`, LIMITS.databaseCores / one['cores for Postgres']],
  [`${LIMITS.walMegabytesPerSecond} MB/s of WAL`, LIMITS.walMegabytesPerSecond / one['WAL, MB/s']],
];
console.log(`Units: ${UNITS.machine}

| creates per second | ${RATES.map(figure).join(' | ')} |
|---|${'---:|'.repeat(RATES.length)}
${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}

One Postgres server reaches, at this many creates per second:

${limits.map(([name, rate]) => `- ${figure(rate)}: ${name}`).join('\n')}`);
