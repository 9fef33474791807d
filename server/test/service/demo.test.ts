import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../temporary-folder.ts';
import { until } from '../until.ts';
import { INHERITED } from './service-process.ts';

const DEMO = fileURLToPath(new URL('../../../demo.ts', import.meta.url));
const skip = process.platform !== 'linux' && 'processes are listed in /proc on Linux only';

/** Starts the demo in a temporary folder of its own. */
async function startDemo() {
  const folder = await temporaryFolder();
  const child = spawn(process.execPath, [DEMO], {
    env: { ...INHERITED, NODE_NO_WARNINGS: '1', TMPDIR: folder.path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return {
    process: child,
    /** Standard output and error together. */
    output: () => output,
    files: () => readdir(folder.path, { recursive: true }),
    processes: () => processesOf(`${folder.path}/`),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      for (const pid of await processesOf(`${folder.path}/`)) process.kill(Number(pid), 'SIGKILL');
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The ids of the processes that have this text in their arguments or variables. */
async function processesOf(text: string): Promise<string[]> {
  const found = await Promise.all(
    (await readdir('/proc')).filter(Number).map(async (pid) => {
      const facts = await Promise.all(
        ['cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8')),
      ).catch(() => []);
      return facts.join('\0').includes(text) ? [pid] : [];
    }),
  );
  return found.flat();
}

type Demo = Awaited<ReturnType<typeof startDemo>>;

async function isDatabaseMade(demo: Demo): Promise<boolean> {
  return (await demo.files()).some((file) => file.endsWith('/cluster/PG_VERSION'));
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGHUP', 129],
  ['SIGTERM', 143],
] as const) {
  test(`${signal} ends the demo while it starts, and nothing remains`, { skip }, async () => {
    await using demo = await startDemo();
    const exited = once(demo.process, 'exit');
    await until(() => isDatabaseMade(demo), Boolean);
    demo.process.kill(signal);
    assert.deepEqual(await exited, [code, null]);
    assert.match(demo.output(), /^ +\d\.\d s {2}starting the service in a temporary folder\n$/);
    await until(demo.processes, (pids) => pids.length === 0, 5);
    assert.deepEqual(await demo.files(), []);
  });
}

test('the database of a killed demo ends by itself', { skip }, async () => {
  await using demo = await startDemo();
  await until(() => isDatabaseMade(demo), Boolean);
  demo.process.kill('SIGKILL');
  await until(demo.processes, (pids) => pids.length === 0);
});
