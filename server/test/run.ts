import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

// Runs all tests on one embedded Postgres in a temporary folder. Arguments are passed to Node's test
// runner, so `node server/test/run.ts server/src/ledger/*.test.ts` runs a few.
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

const COVERAGE = [
  '--experimental-test-coverage',
  '--test-coverage-include={server/src,local-renderer,simulators}/**/*.ts',
  '--test-coverage-include=embedded-postgres/*.ts',
  '--test-coverage-exclude={embedded-postgres,local-renderer}/test/**',
  '--test-coverage-exclude=**/*.test.ts',
];
const ALL = ['{server,embedded-postgres,local-renderer,simulators,console}/**/*.test.ts'];

const given = process.argv.slice(2);
const child = spawn(
  process.execPath,
  [
    '--test',
    '--test-concurrency=3',
    ...(process.env.FRAMEWRIGHT_COVERAGE === '1' ? COVERAGE : []),
    ...(given.length > 0 ? given : ALL),
  ],
  { stdio: 'inherit' },
);
const [code] = await once(child, 'exit');
await pooler?.[Symbol.asyncDispose]();
await server.close();
await rm(home, { recursive: true, force: true });
process.exitCode = code === 0 ? 0 : 1;
