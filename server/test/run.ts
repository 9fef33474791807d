import { once } from 'node:events';
import { globSync } from 'node:fs';
import { mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { FILE_LIMIT_MS, programsFor, TIMES } from './runner/programs.ts';

// Runs all tests on one embedded Postgres in a temporary folder, or those of the named files:
// `node server/test/run.ts [--test-name-pattern=WORDS] [FILE...]`.
const { values, positionals } = parseArgs({
  options: { 'test-name-pattern': { type: 'string', multiple: true } },
  allowPositionals: true,
});

const ALL = '{server,embedded-postgres,local-renderer,simulators,console,clients}/**/*.test.ts';
const isWhole = positionals.length === 0;
const found = globSync(isWhole ? ALL : positionals, { exclude: (name) => name === 'node_modules' });
const files = found.map((file) => path.relative('', file));
if (files.length === 0) {
  console.error(`There is no test file ${positionals.join(' or ')}.`);
  process.exit(1);
}

const home = await mkdtemp(path.join(await fastestFolder(), 'framewright-test-'));
process.env.FRAMEWRIGHT_TEST_HOME = home;
// Each process would otherwise strip the types of the same sources again. `npm ci` removes it.
process.env.NODE_COMPILE_CACHE = path.resolve('node_modules/.cache/compiled');
// Each process that serves the pages would otherwise build them at its start.
const { buildPages } = await import('../../console/build.ts');
await buildPages();
const { openTestServer } = await import('./database.ts');
const server = await openTestServer();
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
const AT_ONCE = Math.min(8, 2 * availableParallelism() + 1);

/** Of the event of a test, or a suite, that has ended. */
interface Ended {
  name: string;
  nesting: number;
  details: { type?: string; duration_ms: number };
}

/** Runs the files, and prints the report. */
async function runFiles(): Promise<{ succeeded: boolean; seconds: Map<string, number> }> {
  const seconds = new Map<string, number>();
  let succeeded = true;
  const events = run({
    // The runner looks for names in suites only if these are defined without waiting.
    files: await programsFor(files, { home, mayShare: !values['test-name-pattern'] }),
    concurrency: AT_ONCE,
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
  const noteSuite = ({ name, nesting, details }: Ended) => {
    if (nesting === 0 && details.type === 'suite') note(name, details.duration_ms);
  };
  events.on('test:pass', noteSuite).on('test:fail', noteSuite);
  const report = events.compose(spec);
  report.pipe(process.stdout);
  await once(report, 'end');
  return { succeeded, seconds };
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
 * duration, it says little about what else the machine does. Linux only.
 */
async function tellCpuTime(): Promise<void> {
  const stat = await readFile('/proc/self/stat', 'utf8').catch(() => undefined);
  // After the name in parentheses, which may have spaces: fields 14 to 17 of proc(5), in 1/100 s.
  const times = stat?.split(') ').at(-1)?.split(' ').slice(11, 15).map(Number) ?? [];
  const seconds = times.reduce((sum, ticks) => sum + ticks / 100, 0);
  if (stat !== undefined) console.log(`${seconds.toFixed(0)} s of CPU time`);
}

/** Prints the slowest files. `FRAMEWRIGHT_RECORD_TIMES=1` writes down how long each one took. */
async function tellSlowest(seconds: Map<string, number>): Promise<void> {
  const slowest = [...seconds].toSorted(([, a], [, b]) => b - a);
  const lines = slowest.slice(0, 10).map(([file, s]) => `${s.toFixed(0).padStart(5)} s  ${file}`);
  console.log(`The slowest test files:\n${lines.join('\n')}`);
  if (process.env.FRAMEWRIGHT_RECORD_TIMES !== '1') return;
  const slow = slowest.filter(([, s]) => s >= 5).map(([file, s]) => [file, Math.round(s)]);
  await writeFile(TIMES, `${JSON.stringify(Object.fromEntries(slow), null, 2)}\n`);
}

try {
  const { succeeded, seconds } = await runFiles();
  if (isWhole) await tellSlowest(seconds);
  process.exitCode = succeeded && haveAllEnded(seconds) ? 0 : 1;
} finally {
  await pooler?.[Symbol.asyncDispose]();
  await server.close();
  await rm(home, { recursive: true, force: true });
}
await tellCpuTime();
