import { once } from 'node:events';
import { globSync } from 'node:fs';
import { mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';

// Runs all tests on one embedded Postgres in a temporary folder, or those of the named files:
// `node server/test/run.ts [--test-name-pattern=WORDS] [FILE...]`.
const { values, positionals } = parseArgs({
  options: { 'test-name-pattern': { type: 'string', multiple: true } },
  allowPositionals: true,
});

const ALL = '{server,embedded-postgres,local-renderer,simulators,console}/**/*.test.ts';
const isWhole = positionals.length === 0;
const files = globSync(isWhole ? ALL : positionals, { exclude: (name) => name === 'node_modules' });
if (files.length === 0) {
  console.error(`There is no test file ${positionals.join(' or ')}.`);
  process.exit(1);
}

const home = await mkdtemp(path.join(await fastestFolder(), 'framewright-test-'));
process.env.FRAMEWRIGHT_TEST_HOME = home;
// Each process would otherwise strip the types of the same sources again.
process.env.NODE_COMPILE_CACHE = path.join(home, 'compile-cache');
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

/** In a whole run, a file that takes longer is ended and fails. */
const FILE_LIMIT_MS = 8 * 60_000;

/** How long each slow file took in a whole run, in seconds. */
const TIMES = new URL('file-seconds.json', import.meta.url);

/** The files, the longest first: a long one that began last would run alone. */
async function longestFirst(): Promise<string[]> {
  const seconds: Record<string, number> = JSON.parse(await readFile(TIMES, 'utf8'));
  return files.toSorted((a, b) => (seconds[b] ?? 0) - (seconds[a] ?? 0));
}

/** Runs the files, and prints the report. */
async function runFiles(): Promise<{ succeeded: boolean; seconds: Map<string, number> }> {
  const seconds = new Map<string, number>();
  let succeeded = true;
  const events = run({
    files: await longestFirst(),
    concurrency: 3,
    ...(isWhole && { timeout: FILE_LIMIT_MS }),
    testNamePatterns: values['test-name-pattern'],
    ...(process.env.FRAMEWRIGHT_COVERAGE === '1' && COVERAGE),
  });
  events.on('test:summary', ({ file, duration_ms, success }) => {
    if (file !== undefined) seconds.set(path.relative('', file), duration_ms / 1000);
    succeeded &&= success;
  });
  const report = events.compose(spec);
  report.pipe(process.stdout);
  await once(report, 'end');
  return { succeeded, seconds };
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
  process.exitCode = succeeded ? 0 : 1;
} finally {
  await pooler?.[Symbol.asyncDispose]();
  await server.close();
  await rm(home, { recursive: true, force: true });
}
