import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

// Runs all tests on one embedded Postgres in a temporary folder. Arguments are handed to the test
// runner, so `node server/test/run.ts server/src/ledger/*.test.ts` runs a few.
const home = await mkdtemp(path.join(tmpdir(), 'framewright-test-'));
process.env.FRAMEWRIGHT_TEST_HOME = home;
const { openTestServer } = await import('./database.ts');
const server = await openTestServer();

const given = process.argv.slice(2);
const files = given.length > 0 ? given : ['server/**/*.test.ts'];
const coverage =
  given.length > 0
    ? []
    : ['--experimental-test-coverage', '--test-coverage-include=server/src/**/*.ts'];
const child = spawn(process.execPath, ['--test', '--test-concurrency=3', ...coverage, ...files], {
  stdio: 'inherit',
});
const [code] = await once(child, 'exit');
await server.close();
await rm(home, { recursive: true, force: true });
process.exitCode = code ?? 1;
