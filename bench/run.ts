/**
 * `npm run bench`: measures the service on this machine, each rate as a ratio to its floor.
 * `npm run bench -- ingest idle` measures these lines only.
 */
import { availableParallelism } from 'node:os';
import { measureAddedTime } from './lines/added-time.ts';
import { END_TO_END, measureEndToEnd } from './lines/end-to-end.ts';
import { ENDED_TASKS, LIVE_TASKS, measureGrowth } from './lines/growth.ts';
import { measureIdle } from './lines/idle.ts';
import { measureIngest } from './lines/ingest.ts';
import { measureOutputs } from './lines/outputs.ts';
import { CLIENTS, compareThroughput, MANY_CLIENTS } from './lines/throughput.ts';
import { type Comparison, type Quantiles, ROUND_SECONDS, ROUNDS, type Spread } from './load.ts';
import { IS_LINUX } from './process-usage.ts';

/** The unit is at the end of a name. */
const TARGETS = {
  create: 2,
  manyCreate: 3,
  read: 1.2,
  ingest: 0.9,
  growth: 1.3,
  growthMegabytes: 64,
  endToEnd: 250,
  endToEndRatio: 1.5,
  endToEndCpu: 0.7,
  /** From a POST to its submit. */
  submit: { p50Milliseconds: 30, p99Milliseconds: 100 },
  /** From the end of a job to the response that says so. */
  response: { p50Milliseconds: 60, p99Milliseconds: 200 },
  signing: 1.5,
  idlePercent: 0.7,
  idleMegabytes: 200,
};

const LINES = {
  throughput,
  'end-to-end': endToEnd,
  'added-time': addedTime,
  outputs: onLinux(outputs),
  ingest: onLinux(ingest),
  growth,
  idle: onLinux(idle),
};

print(`${availableParallelism()} cores, shared by the clients, the service and its database;`);
print(`Node ${process.version}; all numbers are medians of the rounds\n`);
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in LINES));
if (unknown.length > 0) {
  throw new Error(`no such line: ${unknown}; the lines are ${Object.keys(LINES).join(', ')}`);
}
let isAnyMissed = false;
for (const [name, printLine] of Object.entries(LINES)) {
  if (wanted.length === 0 || wanted.includes(name)) await printLine();
}
if (isAnyMissed)
  print('\nWhy a target is missed: docs/operators/performance.md says what limits each line.');

/** CPU time and memory are read from /proc. */
function onLinux(line: () => Promise<void>): () => Promise<void> {
  return IS_LINUX ? line : async () => print(`${line.name}: can be measured on Linux only`);
}

async function throughput(): Promise<void> {
  print(`${CLIENTS} clients; ${ROUNDS} rounds of ${ROUND_SECONDS} s per side, in turns`);
  print(row(['', 'service/s', 'floor/s', 'ratio', '(range)', 'p50 ms', 'p99 ms', 'target']));
  const { create, manyCreate, read, readMicroseconds: cpu } = await compareThroughput();
  print(comparisonRow('create', create, TARGETS.create));
  print(comparisonRow(`by ${MANY_CLIENTS}`, manyCreate, TARGETS.manyCreate));
  print(comparisonRow('read', read, TARGETS.read));
  if (!IS_LINUX) return;
  print(
    `CPU of one request, without the database: read ${cpu.service.toFixed(0)} us, ` +
      `its floor ${cpu.floor.toFixed(0)} us`,
  );
}

async function endToEnd(): Promise<void> {
  const { perSecond, ratio, cpu, floorPerSecond, ...times } = await measureEndToEnd();
  const { endToEnd: rate, endToEndRatio, endToEndCpu } = TARGETS;
  print(
    `\nend to end, ${END_TO_END.rounds} rounds of ${END_TO_END.seconds} s per side, in turns: ` +
      `${range(perSecond, 0)} tasks/s (${targetCell(perSecond.median / rate, `target >= ${rate}`)}); ` +
      `from create to completed ${milliseconds(times)}`,
  );
  print(
    `on a job queue by hand: ${floorPerSecond.toFixed(0)} tasks/s, ratio ${range(ratio, 2)} ` +
      `(${targetCell(ratio.median / endToEndRatio, `target >= ${endToEndRatio}`)})`,
  );
  if (!IS_LINUX) return;
  print(
    `CPU of one task: ${cpu.serviceMilliseconds.toFixed(1)} ms, on a job queue by hand ` +
      `${cpu.floorMilliseconds.toFixed(1)} ms: ratio ${range(cpu.ratio, 2)} ` +
      `(${targetCell(endToEndCpu / cpu.ratio.median, `target <= ${endToEndCpu}`)})`,
  );
}

async function addedTime(): Promise<void> {
  const times = await measureAddedTime();
  print('\ntime added to that of the provider, 5 s of 720p');
  for (const [told, { single, together }] of Object.entries(times)) {
    for (const [name, { before, after }] of [
      ['one task at a time', single],
      ['100 at once', together],
    ] as const) {
      print(
        `${told}, ${name}: POST to submit ${milliseconds(before)}; ` +
          `end of the job to response ${milliseconds(after)}`,
      );
    }
  }
  const { callbacks, polls } = times;
  const { pause, after } = polls.single;
  // A read finds the end of its job half a pause late on average, and a callback tells it at once.
  const later = after.p50Milliseconds - callbacks.single.after.p50Milliseconds;
  const share = pause.p50Milliseconds / 2 / Math.max(1, later);
  print(
    `polls, one task at a time: the pause before the last read of a job ${milliseconds(pause)}; ` +
      `response p50 ${later.toFixed(0)} ms later than with callbacks ` +
      `(<= ${targetCell(share, 'half of the pause')})`,
  );
  for (const [name, measured, target] of [
    ['POST to submit', callbacks.single.before, TARGETS.submit],
    ['end to response', callbacks.single.after, TARGETS.response],
  ] as const) {
    const { p50Milliseconds: p50, p99Milliseconds: p99 } = target;
    const cells = [
      targetCell(p50 / measured.p50Milliseconds, `p50 <= ${p50} ms`),
      targetCell(p99 / measured.p99Milliseconds, `p99 <= ${p99} ms`),
    ];
    print(`${name}, one at a time with callbacks: ${cells.join(', ')}`);
  }
}

async function outputs(): Promise<void> {
  print('\nCPU of a completed task, with its poster: service, children and database');
  for (const { name, milliseconds, ratio, ...others } of await measureOutputs()) {
    print(
      `${name}: ${milliseconds.toFixed(0)} ms, unsigned ${others.unsignedMilliseconds.toFixed(0)} ms: ` +
        `ratio ${range(ratio, 2)} (${targetCell(TARGETS.signing / ratio.median, `target <= ${TARGETS.signing}`)}); ` +
        `unsigned with OUTPUT_CHECK=full ${others.fullMilliseconds.toFixed(0)} ms`,
    );
  }
}

async function ingest(): Promise<void> {
  const { ratio, peakBytes, smallPeakBytes, ...measured } = await measureIngest();
  const growth = megabytes(peakBytes - smallPeakBytes);
  const { ingest: speed, growthMegabytes: limit } = TARGETS;
  print(
    `ingest of ${megabytes(measured.ingestedBytes)} MB: ${measured.serviceSeconds.toFixed(2)} s, ` +
      `by hand ${measured.floorSeconds.toFixed(2)} s: ratio ${range(ratio, 2)} ` +
      `(${targetCell(ratio.median / speed, `target >= ${speed}`)}); ` +
      `peak ${megabytes(peakBytes)} MB, ${megabytes(smallPeakBytes)} MB for 1 MB, growth ${growth} MB ` +
      `(${targetCell(limit / Math.max(growth, 1), `target < ${limit} MB`)}); ` +
      `largest child ${megabytes(measured.childPeakBytes)} MB`,
  );
}

async function growth(): Promise<void> {
  const { fillSeconds, ...parts } = await measureGrowth(print);
  print(
    `\ngrowth: a database with ${ENDED_TASKS} ended and ${LIVE_TASKS} live tasks ` +
      `(filled in ${fillSeconds.toFixed(0)} s) to an empty one`,
  );
  print(row(['', 'p99 ms', 'empty ms', 'ratio', '(range)', 'target']));
  for (const [name, { service, floor, p99Ratio: ratio }] of Object.entries(parts)) {
    print(
      row([
        name,
        service.p99Milliseconds.toFixed(1),
        floor.p99Milliseconds.toFixed(1),
        ...ratioCells(ratio),
        targetCell(TARGETS.growth / ratio.median, `<= ${TARGETS.growth}`),
      ]),
    );
  }
}

async function idle(): Promise<void> {
  const { cpuShare, residentBytes } = await measureIdle();
  const percent = cpuShare * 100;
  const { idlePercent, idleMegabytes } = TARGETS;
  const cpu = targetCell(idlePercent / percent, `target < ${idlePercent} %`);
  const size = megabytes(residentBytes);
  const memory = targetCell(idleMegabytes / size, `target < ${idleMegabytes} MB`);
  print(`idle: ${percent.toFixed(2)} % of a core (${cpu}), ${size} MB (${memory})`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function row([name = '', ...cells]: string[]): string {
  return name.padEnd(8) + cells.map((cell) => ` ${cell}`.padStart(11)).join('');
}

function comparisonRow(name: string, { service, floor, ratio }: Comparison, target: number) {
  return row([
    name,
    service.perSecond.toFixed(0),
    floor.perSecond.toFixed(0),
    ...ratioCells(ratio),
    service.p50Milliseconds.toFixed(1),
    service.p99Milliseconds.toFixed(1),
    targetCell(ratio.median / target, `>= ${target}`),
  ]);
}

function ratioCells({ median, lowest, highest }: Spread): string[] {
  return [median.toFixed(2), `${lowest.toFixed(2)}-${highest.toFixed(2)}`];
}

function range({ median, lowest, highest }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${lowest.toFixed(digits)}-${highest.toFixed(digits)})`;
}

function milliseconds({ p50Milliseconds: p50, p99Milliseconds: p99 }: Quantiles): string {
  return `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}

/** @param share what was measured as a share of what the target asks for; above 1 it is met */
function targetCell(share: number, target: string): string {
  if (share > 1) return `${target} met`;
  isAnyMissed = true;
  return `${target} MISSED by ${Math.max(1, Math.ceil((1 - share) * 100))} %`;
}
