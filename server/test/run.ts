import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

// Runs all tests on one embedded Postgres in a temporary folder. Arguments are passed to Node's test
// runner, so `node server/test/run.ts server/src/ledger/*.test.ts` runs a few.
const home = await mkdtemp(path.join(tmpdir(), 'framewright-test-'));
process.env.FRAMEWRIGHT_TEST_HOME = home;
const { openTestServer } = await import('./database.ts');
const server = await openTestServer();

/** First the tests beside the code, with line coverage; then whole services with many processes. */
const COVERAGE = [
  '--experimental-test-coverage',
  '--test-coverage-include=server/src/**/*.ts',
  '--test-coverage-include=embedded-postgres/*.ts',
  '--test-coverage-include=local-renderer/**/*.ts',
  '--test-coverage-include=simulators/**/*.ts',
  '--test-coverage-exclude={embedded-postgres,local-renderer}/test/**',
  '--test-coverage-exclude=**/*.test.ts',
];
const ALL = [
  [...COVERAGE, '{server/src,embedded-postgres,local-renderer,simulators}/**/*.test.ts'],
  ['server/test/**/*.test.ts'],
];

async function runTests(args: string[]): Promise<boolean> {
  const flags = ['--test', '--test-concurrency=3', ...args];
  const child = spawn(process.execPath, flags, { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return code === 0;
}

const given = process.argv.slice(2);
let passed = true;
for (const args of given.length > 0 ? [given] : ALL) passed = (await runTests(args)) && passed;
await server.close();
await rm(home, { recursive: true, force: true });
process.exitCode = passed ? 0 : 1;
