import { once } from 'node:events';
import { globSync } from 'node:fs';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { bundlePackages } from './runner/bundled-packages.ts';
import { cpuTime, notedCpuTimes } from './runner/cpu-time.ts';
import { isLeftOut, leftOutLine } from './runner/left-out.ts';
import { FILE_LIMIT_MS, programsFor, recordTimes } from './runner/programs.ts';

// Runs the tests on one embedded Postgres in a temporary folder: as much as FRAMEWRIGHT_TESTS asks
// for, or all of the named files: `node server/test/run.ts [--test-name-pattern=WORDS] [FILE...]`.
const { values, positionals } = parseArgs({
  options: { 'test-name-pattern': { type: 'string', multiple: true } },
  allowPositionals: true,
});

const ALL = '{server,embedded-postgres,local-renderer,simulators,console,clients}/**/*.test.ts';
const isWhole = positionals.length === 0;
const found = globSync(isWhole ? ALL : positionals, { exclude: (name) => name === 'node_modules' });
// What is named is tested as a whole.
if (!isWhole) process.env.FRAMEWRIGHT_TESTS = 'all';
const { AMOUNT, LEFT_OUT, LEFT_TO_CI } = await import('./runner/thorough.ts');
const files = found
  .map((file) => path.relative('', file))
  .filter((file) => !isLeftOut(file, AMOUNT));
if (files.length === 0) {
  console.error(`There is no test file ${positionals.join(' or ')}.`);
  process.exit(1);
}

const home = await mkdtemp(path.join(await fastestFolder(), 'framewright-test-'));
process.env.FRAMEWRIGHT_TEST_HOME = home;
const cpuNotes = path.join(home, 'cpu-notes');
process.env.FRAMEWRIGHT_CPU_NOTES = cpuNotes;
// Each process would otherwise strip the types of the same sources again. `npm ci` removes it.
process.env.NODE_COMPILE_CACHE = path.resolve('node_modules/.cache/compiled');
// Each process would otherwise load hundreds of files more.
if (AMOUNT !== 'all') process.env.NODE_OPTIONS = await bundlePackages();
// Each process that serves the pages would otherwise build them at its start.
const { buildPages } = await import('../../console/build.ts');
await buildPages();
const { openTestServer } = await import('./database.ts');
const server = await openTestServer();
process.env.FRAMEWRIGHT_TEST_SERVER = server.url;
const pooler = await startPooler(process.env.FRAMEWRIGHT_PGBOUNCER, server.url);
if (pooler) process.env.FRAMEWRIGHT_TEST_POOLER = pooler.host;

/** Starts the PgBouncer through which all tests are to run, if its file is named. */
async function startPooler(program: string | undefined, url: string) {
  if (program === undefined) return undefined;
  const { startPgBouncer } = await import('./pooler/pgbouncer.ts');
  return startPgBouncer(program, url);
}

/** A folder in memory where there is room for the data of all tests, otherwise the usual one. */
async function fastestFolder(): Promise<string> {
  const inMemory = '/dev/shm';
  const space = await statfs(inMemory).catch(() => undefined);
  const free = space ? space.bavail * space.bsize : 0;
  return process.env.TMPDIR === undefined && free > 8 * 2 ** 30 ? inMemory : tmpdir();
}

const COVERAGE = {
  coverage: true,
  coverageIncludeGlobs: [
    '{server/src,local-renderer,simulators}/**/*.ts',
    'embedded-postgres/*.ts',
  ],
  coverageExcludeGlobs: ['{embedded-postgres,local-renderer}/test/**', '**/*.test.ts'],
};

/** Most files wait more than they compute. Eight services at a time are enough for one Postgres. */
const AT_ONCE = Math.min(8, 3 * availableParallelism());

/** Of the event of a test, or a suite, that has ended. */
interface Ended {
  name: string;
  nesting: number;
  skip?: string | boolean;
  details: { type?: string; duration_ms: number };
}

/** Runs the files, and prints the report. */
async function runFiles() {
  const seconds = new Map<string, number>();
  let leftOut = 0;
  let succeeded = true;
  const events = run({
    // The runner looks for names in suites only if these are defined without waiting.
    files: await programsFor(files, { home, mayShare: !values['test-name-pattern'] }),
    concurrency: AT_ONCE,
    execArgv: ['--import', new URL('runner/note-cpu-time.ts', import.meta.url).href],
    ...(isWhole && { timeout: FILE_LIMIT_MS }),
    testNamePatterns: values['test-name-pattern'],
    ...(process.env.FRAMEWRIGHT_COVERAGE === '1' && COVERAGE),
  });
  const note = (file: string, ms: number) => {
    const name = path.relative('', file);
    if (files.includes(name)) seconds.set(name, ms / 1000);
  };
  // A file has an end of its own in a process, or is a suite of a group.
  events.on('test:summary', ({ file, duration_ms, success }) => {
    if (file !== undefined) note(file, duration_ms);
    succeeded &&= success;
  });
  const noteSuite = ({ name, nesting, skip, details }: Ended) => {
    if (skip && (skip === LEFT_OUT || skip === LEFT_TO_CI)) leftOut += 1;
    if (nesting === 0 && details.type === 'suite') note(name, details.duration_ms);
  };
  events.on('test:pass', noteSuite).on('test:fail', noteSuite);
  const report = events.compose(spec);
  report.pipe(process.stdout);
  await once(report, 'end');
  return { succeeded, seconds, leftOut };
}

/** Whether each file has ended. One that ends its process would take the files after it with it. */
function haveAllEnded(seconds: Map<string, number>): boolean {
  const lost = files.filter((file) => !seconds.has(file));
  if (lost.length === 0 || values['test-name-pattern']) return true;
  console.error(`These test files were not run to their end:\n${lost.join('\n')}`);
  return false;
}

/**
 * Prints the CPU time of this process and of all that it waited for, Postgres included: unlike the
 * duration, it says little about what else the machine does.
 */
function tellCpuTime(): void {
  const time = cpuTime();
  if (time) console.log(`${(time.own + time.children).toFixed(0)} s of CPU time`);
}

/** Prints the slowest files. `FRAMEWRIGHT_RECORD_TIMES=1` writes down how long each one took. */
async function tellSlowest(seconds: Map<string, number>): Promise<void> {
  const records = process.env.FRAMEWRIGHT_RECORD_TIMES === '1';
  const slowest = [...seconds].toSorted(([, a], [, b]) => b - a);
  const cpu = notedCpuTimes(cpuNotes);
  const lines = slowest.slice(0, records ? 100 : 10).map(([file, s]) => {
    const { own, children } = cpu.get(file) ?? { own: 0, children: 0 };
    const times = [s, own, children].map((time) => time.toFixed(1).padStart(7));
    return `${times.join('')}  ${file}`;
  });
  console.log(`The slowest test files: seconds, of CPU, of children's CPU\n${lines.join('\n')}`);
  if (records) await recordTimes(slowest);
}

try {
  const { succeeded, seconds, leftOut } = await runFiles();
  if (isWhole) {
    await tellSlowest(seconds);
    console.log(leftOutLine(AMOUNT, { files: found.length - files.length, tests: leftOut }));
  }
  process.exitCode = succeeded && haveAllEnded(seconds) ? 0 : 1;
} finally {
  await pooler?.[Symbol.asyncDispose]();
  await server.close();
  await rm(home, { recursive: true, force: true });
}
tellCpuTime();
