/**
 * `npm run bench`: measures the service on this machine, each rate as a ratio to its floor.
 * `npm run bench -- ingest idle` measures these lines only.
 */
import { availableParallelism } from 'node:os';
import { type Ingest, measureIngest } from './ingest.ts';
import { type AddedTimes, measureAddedTime } from './lines/added-time.ts';
import { type EndToEnd, measureEndToEnd } from './lines/end-to-end.ts';
import { ENDED_TASKS, type Growth, LIVE_TASKS, measureGrowth } from './lines/growth.ts';
import { type Idle, measureIdle } from './lines/idle.ts';
import { measureOutputs, type OutputCost } from './lines/outputs.ts';
import { measureUploads, UPLOAD_MEGABYTES, type UploadMemory } from './lines/uploads.ts';
import { measureWaitingReads, WAITING_READS, type WaitingReads } from './lines/waiting-reads.ts';
import { type BesideWebhooks, measureWebhooks, WAITING_EVENTS } from './lines/webhooks.ts';
import { type Comparison, ROUND_SECONDS, ROUNDS, type Spread } from './rounds.ts';
import type { Sample } from './sample.ts';
import { TARGETS } from './targets.ts';
import { CLIENTS, compareThroughput, MANY_CLIENTS } from './throughput.ts';
import { measureWaitingCreate, WAITING_CLIENTS } from './waiting.ts';

const END_TO_END = { count: 4, seconds: 8 };

const LINES = {
  throughput: printThroughput,
  waiting: async () => print(waitingLine(await measureWaitingCreate())),
  'waiting-reads': async () => print(waitingReadsLine(await measureWaitingReads())),
  webhooks: async () => print(webhooksLine(await measureWebhooks())),
  uploads: async () => print(uploadsLine(await measureUploads())),
  'end-to-end': async () => printEndToEnd(await measureEndToEnd(END_TO_END)),
  'added-time': async () => printAddedTimes(await measureAddedTime()),
  outputs: async () => printOutputs(await measureOutputs()),
  ingest: async () => print(ingestLine(await measureIngest())),
  growth: async () => printGrowth(await measureGrowth(print)),
  idle: async () => print(idleLine(await measureIdle())),
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

async function printThroughput(): Promise<void> {
  print(`${CLIENTS} clients; ${ROUNDS} rounds of ${ROUND_SECONDS} s per side, in turns`);
  print(row(['', 'service/s', 'floor/s', 'ratio', '(range)', 'p50 ms', 'p99 ms', 'target']));
  const { create, manyCreate, read, readOfHttp, readMicroseconds: cpu } = await compareThroughput();
  print(comparisonRow('create', create, TARGETS.create));
  print(comparisonRow(`by ${MANY_CLIENTS}`, manyCreate, TARGETS.manyCreate));
  print(comparisonRow('read', read, TARGETS.read));
  const { http, ratio } = readOfHttp;
  print(`Node's HTTP server alone: ${http.perSecond.toFixed(0)}/s, read ${range(ratio, 2)} of it`);
  if (!cpu) return;
  print(
    `CPU of one request, without the database: read ${cpu.service.toFixed(0)} us, ` +
      `its floor ${cpu.floor.toFixed(0)} us, HTTP alone ${cpu.http.toFixed(0)} us`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function row([name = '', ...cells]: string[]): string {
  return name.padEnd(8) + cells.map((cell) => ` ${cell}`.padStart(11)).join('');
}

function comparisonRow(name: string, compared: Comparison, target: number): string {
  const { service, floor, ratio } = compared;
  return row([
    name,
    service.perSecond.toFixed(0),
    floor.perSecond.toFixed(0),
    ratio.median.toFixed(2),
    `${ratio.lowest.toFixed(2)}-${ratio.highest.toFixed(2)}`,
    service.p50Milliseconds.toFixed(1),
    service.p99Milliseconds.toFixed(1),
    targetCell(ratio.median / target, `>= ${target}`),
  ]);
}

/** @param share what was measured as a share of what the target asks for; above 1 it is met */
function targetCell(share: number, target: string): string {
  if (share > 1) return `${target} met`;
  isAnyMissed = true;
  return `${target} MISSED by ${Math.max(1, Math.ceil((1 - share) * 100))} %`;
}

function waitingLine({ p50Milliseconds: p50, p99Milliseconds: p99 }: Sample): string {
  const what = `${WAITING_CLIENTS} clients, while earlier tasks are rendered`;
  const times = `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms from the POST to its 202`;
  return `\nwaiting create, ${what}: ${times}`;
}

function waitingReadsLine(measured: WaitingReads | undefined): string {
  if (!measured) return 'reads that wait: CPU time and memory can be measured on Linux only';
  const { cpuShare, bytesEach, p50Milliseconds: p50, p99Milliseconds: p99 } = measured;
  const { waitingReadsMilliseconds: limit } = TARGETS;
  return (
    `${WAITING_READS} reads that wait: ${(cpuShare * 100).toFixed(1)} % of a core and ` +
    `${(bytesEach / 1024).toFixed(0)} KB each while nothing happens; from the commit of the end ` +
    `to the response p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms ` +
    `(${targetCell(limit / p99, `target <= ${limit} ms`)})`
  );
}

function webhooksLine({ beside, alone, deliveredPerSecond }: BesideWebhooks): string {
  const times = [beside, alone].map(({ p50Milliseconds: p50, p99Milliseconds: p99 }) => {
    return `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`;
  });
  return (
    `tasks beside ${WAITING_EVENTS} waiting events of quick, slow and dead endpoints: ${times[0]}; ` +
    `without deliveries: ${times[1]}; ${deliveredPerSecond.toFixed(0)} delivered/s`
  );
}

function uploadsLine(memory: UploadMemory | undefined): string {
  if (!memory) return 'uploads: memory can be measured on Linux only';
  const [before, peak, after] = [memory.beforeBytes, memory.peakBytes, memory.afterBytes].map(
    (bytes) => Math.round(bytes / 1024 / 1024),
  );
  return (
    `${memory.uploads} uploads of ${UPLOAD_MEGABYTES} MB at once: ${before} MB before, peak ` +
    `${peak} MB, ${after} MB after`
  );
}

function printEndToEnd(measured: EndToEnd): void {
  const { perSecond, ratio, cpu } = measured;
  const target = targetCell(perSecond.median / TARGETS.endToEnd, `target >= ${TARGETS.endToEnd}`);
  const { endToEndRatio, endToEndCpu } = TARGETS;
  print(
    `\nend to end, ${END_TO_END.count} rounds of ${END_TO_END.seconds} s per side, in turns: ` +
      `${range(perSecond, 0)} tasks/s (${target}); from create to completed ` +
      `p50 ${measured.p50Milliseconds.toFixed(0)} ms, p99 ${measured.p99Milliseconds.toFixed(0)} ms`,
  );
  print(
    `on a job queue by hand: ${measured.floorPerSecond.toFixed(0)} tasks/s, ` +
      `ratio ${range(ratio, 2)} (${targetCell(ratio.median / endToEndRatio, `target >= ${endToEndRatio}`)})`,
  );
  if (!cpu) return;
  print(
    `CPU of one task: ${cpu.serviceMilliseconds.toFixed(1)} ms, on a job queue by hand ` +
      `${cpu.floorMilliseconds.toFixed(1)} ms: ratio ${range(cpu.ratio, 2)} ` +
      `(${targetCell(endToEndCpu / cpu.ratio.median, `target <= ${endToEndCpu}`)})`,
  );
}

function printAddedTimes(times: AddedTimes): void {
  print('\ntime added to that of the provider, 5 s of 720p, ms (p50, p99)');
  for (const [told, { single: one, together: many }] of Object.entries(times)) {
    for (const [name, added] of [
      ['one task at a time', one],
      ['100 at once', many],
    ] as const) {
      const [before, after] = [added.before, added.after].map(
        ({ p50, p99 }) => `${p50.toFixed(0)}, ${p99.toFixed(0)}`,
      );
      print(`${told}, ${name}: POST to submit ${before}; end of the job to response ${after}`);
    }
  }
  print(pollsLine(times));
  const { before, after } = times.callbacks.single;
  for (const [name, { p50, p99 }, target] of [
    ['POST to submit', before, TARGETS.submitMilliseconds],
    ['end to response', after, TARGETS.responseMilliseconds],
  ] as const) {
    const cells = [
      targetCell(target.p50 / p50, `p50 <= ${target.p50} ms`),
      targetCell(target.p99 / p99, `p99 <= ${target.p99} ms`),
    ];
    print(`${name}, one at a time with callbacks: ${cells.join(', ')}`);
  }
}

/** A read finds the end of its job half a pause late on average, and a callback tells it at once. */
function pollsLine({ callbacks, polls }: AddedTimes): string {
  const { pause, after } = polls.single;
  const later = after.p50 - callbacks.single.after.p50;
  const target = targetCell(pause.p50 / 2 / Math.max(1, later), 'half of the pause');
  return (
    `polls, one task at a time: the pause before the last read of a job ${pause.p50.toFixed(0)}, ` +
    `${pause.p99.toFixed(0)}; response p50 ${later.toFixed(0)} later than with callbacks (<= ${target})`
  );
}

function printOutputs(costs: OutputCost[] | undefined): void {
  if (!costs) print('outputs: CPU time can be measured on Linux only');
  else print('\nCPU of a completed task, with its poster: service, children and database');
  for (const { name, milliseconds, fullMilliseconds, ratio } of costs ?? []) {
    print(
      `${name}: ${milliseconds.toFixed(0)} ms, with OUTPUT_CHECK=full ` +
        `${fullMilliseconds.toFixed(0)} ms: ratio ${range(ratio, 2)}`,
    );
  }
}

function range({ median, lowest, highest }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${lowest.toFixed(digits)}-${highest.toFixed(digits)})`;
}

function idleLine(idle: Idle | undefined): string {
  if (!idle) return 'idle: CPU time and memory can be measured on Linux only';
  const percent = idle.cpuShare * 100;
  const megabytes = Math.round(idle.residentBytes / 1024 / 1024);
  const { idlePercent, idleMegabytes } = TARGETS;
  const cpu = targetCell(idlePercent / percent, `target < ${idlePercent} %`);
  const memory = targetCell(idleMegabytes / megabytes, `target < ${idleMegabytes} MB`);
  return `idle: ${percent.toFixed(2)} % of a core (${cpu}), ${megabytes} MB (${memory})`;
}

function ingestLine(ingest: Ingest | undefined): string {
  if (!ingest) return 'ingest: memory can be measured on Linux only';
  const megabytes = (bytes: number) => Math.round(bytes / 1024 / 1024);
  const { ratio, peakBytes, smallPeakBytes } = ingest;
  const growth = megabytes(peakBytes - smallPeakBytes);
  const speed = targetCell(ratio.median / TARGETS.ingest, `target >= ${TARGETS.ingest}`);
  const { growthMegabytes } = TARGETS;
  const memory = targetCell(
    growthMegabytes / Math.max(growth, 1),
    `target < ${growthMegabytes} MB`,
  );
  return (
    `ingest of ${megabytes(ingest.ingestedBytes)} MB: ${ingest.serviceSeconds.toFixed(2)} s, ` +
    `by hand ${ingest.floorSeconds.toFixed(2)} s: ratio ${ratio.median.toFixed(2)} ` +
    `(${ratio.lowest.toFixed(2)}-${ratio.highest.toFixed(2)}, ${speed}); ` +
    `peak ${megabytes(peakBytes)} MB, ${megabytes(smallPeakBytes)} MB for 1 MB, ` +
    `growth ${growth} MB (${memory}); largest child ${megabytes(ingest.childPeakBytes)} MB`
  );
}

function printGrowth({ fillSeconds, ...parts }: Growth): void {
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
        ratio.median.toFixed(2),
        `${ratio.lowest.toFixed(2)}-${ratio.highest.toFixed(2)}`,
        targetCell(TARGETS.growth / ratio.median, `<= ${TARGETS.growth}`),
      ]),
    );
  }
}
