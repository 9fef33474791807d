import { once } from 'node:events';
import { globSync } from 'node:fs';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { bundleTypebox } from './bundle.ts';
import { LONG } from './long.ts';

// Runs all tests, or the named files, with Node's test runner and one Postgres in a temporary
// folder: `node server/test/run.ts [--test-name-pattern=WORDS] [FILE...]`.
const { values, positionals } = parseArgs({
  options: { 'test-name-pattern': { type: 'string', multiple: true } },
  allowPositionals: true,
});

/** The slow ones first: one that began last would run alone. */
const ALL = [
  'server/test/**/*.test.ts',
  '{console,clients,embedded-postgres,local-renderer}/**/*.test.ts',
  'server/src/**/*.test.ts',
];

/** Files that only the long run has: they repeat what others show, or show it in other programs. */
const ONLY_LONG = [
  'console/build.test.ts',
  'console/test/{brand,credits,docs-pages,gallery,keys,operator}.test.ts',
  'console/test/{playground,public-pages,settings,shell,sign-in}.test.ts',
  'embedded-postgres/{embedded-postgres,os-user}.test.ts',
  'local-renderer/render.test.ts',
  'server/test/docs/{guide,reference}-samples.test.ts',
  'server/test/service/{demo,processes}.test.ts',
  'server/test/crash/fencing.test.ts',
  'server/test/faults/{restored,two-processes,upgrade-phases}.test.ts',
  'server/test/repository/fallback-node.test.ts',
  'server/test/media/{generated-video,ingest-limits,linked-packages}.test.ts',
  'server/src/site/playground/uploads-s3.test.ts',
];

const exclude = (name: string) => name === 'node_modules';
const isNamed = positionals.length > 0;
const leftOut = isNamed || LONG ? [] : globSync(ONLY_LONG, { exclude });
const files = (isNamed ? positionals : ALL)
  .flatMap((glob) => globSync(glob, { exclude }))
  .filter((file) => !leftOut.includes(file));
if (files.length === 0) {
  console.error(`There is no test file ${positionals.join(' or ')}.`);
  process.exit(1);
}

const home = await mkdtemp(path.join(await fastestFolder(), 'framewright-test-'));
process.env.FRAMEWRIGHT_TEST_HOME = home;
// Each process would otherwise strip the types of the same sources again. `npm ci` removes it.
process.env.NODE_COMPILE_CACHE = path.resolve('node_modules/.cache/compiled');
process.env.NODE_OPTIONS = [
  process.env.NODE_OPTIONS,
  await bundleTypebox(path.join(home, 'typebox')),
].join(' ');
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

/** Prints the report. @returns whether all tests passed */
async function runFiles(): Promise<boolean> {
  let succeeded = true;
  const events = run({
    files,
    // Most files wait more than they compute. Eight services are enough for one Postgres.
    concurrency: Math.min(8, 4 * availableParallelism()),
    testNamePatterns: values['test-name-pattern'],
    forceExit: true, // what a failed test leaves open must not keep the run from its end
    ...(!LONG && { timeout: 8 * 60_000 }),
    ...(process.env.FRAMEWRIGHT_COVERAGE === '1' && COVERAGE),
  });
  events.on('test:summary', ({ success }) => {
    succeeded &&= success;
  });
  const report = events.compose(spec);
  report.pipe(process.stdout);
  await once(report, 'end');
  return succeeded;
}

try {
  process.exitCode = (await runFiles()) ? 0 : 1;
  const hint = `${leftOut.length} files and the skipped tests that say so: FRAMEWRIGHT_TESTS=all npm test`;
  if (leftOut.length > 0) console.log(`Left to the long run: ${hint}`);
} finally {
  await pooler?.[Symbol.asyncDispose]();
  await server.close();
  await rm(home, { recursive: true, force: true });
}
