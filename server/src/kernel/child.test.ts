import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setImmediate as breathe } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type ChildOptions, type ChildOutcome, runChild, startChild } from './child.ts';

const CHILD_ROOM = new URL('./child.ts', import.meta.url).href;
let folder = '';
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'child of ours-'));
});
after(() => rm(folder, { recursive: true }));

/** A child whose work is an async function of `input` with this body. */
async function child(body: string, job: Partial<ChildOptions> = {}): Promise<ChildOptions> {
  const file = path.join(folder, `${crypto.randomUUID()}.mjs`);
  const serve = `import { serveParent } from '${CHILD_ROOM}';`;
  await writeFile(file, `${serve}\nawait serveParent(async (input) => { ${body} });`);
  const usual = { input: null, timeoutSeconds: 60, memoryBytes: 2 ** 32 };
  return { script: pathToFileURL(file), ...usual, ...job };
}

const FOREVER = 'setInterval(() => {}, 1000); await new Promise(() => {});';

/** Waits until a child that writes its process id into a file has done so. */
async function written(file: string): Promise<number> {
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => '');
    if (text.endsWith('.')) return Number(text.slice(0, -1));
    await breathe();
  }
}

function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch {
    return false;
  }
}

function announcing(file: string): string {
  const write = `(await import('node:fs')).writeFileSync(${JSON.stringify(file)}, process.pid + '.');`;
  return `${write} ${FOREVER}`;
}

test('a child gets the input but not our environment, and its result is returned', async () => {
  // A test run that measures coverage passes its own variable to all children.
  const known = "['NODE_V8_COVERAGE', 'NODE_COMPILE_CACHE']";
  const names = `Object.keys(process.env).filter((name) => !${known}.includes(name))`;
  const job = await child(`return { input, env: ${names} };`, {
    input: { text: 'línea\nnext' },
  });
  const result = { input: { text: 'línea\nnext' }, env: [] };
  assert.deepEqual(await runChild(job), { kind: 'completed', result });
});

test('a child does one piece of work after the other, in the same process', async (t) => {
  const limits = { timeoutSeconds: 60, memoryBytes: 2 ** 32 };
  const worker = startChild(await child('return { input, pid: process.pid };'));
  t.after(worker.end);
  const first = await worker.run({ input: 1, ...limits });
  const second = await worker.run({ input: 2, ...limits });
  assert.ok(first.kind === 'completed' && second.kind === 'completed');
  assert.deepEqual(second.result, { ...Object(first.result), input: 2 });
  await worker.end();
  assert.equal((await worker.run({ input: 3, ...limits })).kind, 'crashed');
});

test('what a child writes without work is not taken for its next result', async (t) => {
  const limits = { timeoutSeconds: 60, memoryBytes: 2 ** 32 };
  const file = path.join(folder, 'early');
  // The child writes at the signal, when its first result has surely been received.
  const body = `
    const { writeFileSync } = await import('node:fs');
    process.once('SIGUSR2', () => {
      process.stdout.write('{"result":"early"}\\n');
      writeFileSync(${JSON.stringify(file)}, '1.');
    });
    return process.pid;`;
  const worker = startChild(await child(body));
  t.after(worker.end);
  const first = await worker.run({ input: 1, ...limits });
  assert.ok(first.kind === 'completed');
  process.kill(Number(first.result), 'SIGUSR2');
  await written(file);
  await breathe();
  assert.equal((await worker.run({ input: 2, ...limits })).kind, 'crashed');
});

const crash = (cause: RegExp) => (outcome: ChildOutcome) => {
  assert.ok(outcome.kind === 'crashed' && outcome.signal === null);
  assert.match(outcome.cause, cause);
};

const ENDS: [string, () => Promise<ChildOptions>, ChildOutcome | ReturnType<typeof crash>][] = [
  [
    'a result, although it does not exit after it',
    () => child("process.on('exit', () => { for (;;); }); return 'done';"),
    { kind: 'completed', result: 'done' },
  ],
  ['an error', () => child("throw new Error('broken inside');"), crash(/broken inside/)],
  [
    'a death by a signal',
    () => child(`process.kill(process.pid, 'SIGSEGV'); ${FOREVER}`),
    ({ kind, ...rest }) => assert.deepEqual([kind, Object(rest).signal], ['crashed', 'SIGSEGV']),
  ],
  [
    'a script that can not be loaded',
    async () => ({ ...(await child('')), script: pathToFileURL(path.join(folder, 'none.mjs')) }),
    crash(/none\.mjs/),
  ],
  ['a result that is too long', () => child("return 'x'.repeat(10_000_000);"), crash(/too long/)],
  [
    'the time limit of busy work',
    () => child('for (;;);', { timeoutSeconds: 0.5 }),
    { kind: 'timed_out' },
  ],
];
for (const [title, job, expected] of ENDS) {
  test(`a child ends with its own outcome: ${title}`, async () => {
    const outcome = await runChild(await job());
    if (typeof expected === 'function') expected(outcome);
    else assert.deepEqual(outcome, expected);
  });
}

test('a child is killed when it takes too much memory', {
  skip: process.platform !== 'linux',
}, async () => {
  const body = `const kept = []; for (;;) {
    kept.push(Buffer.alloc(8_000_000, 1)); await new Promise((resolve) => setImmediate(resolve)); }`;
  const outcome = await runChild(await child(body, { memoryBytes: 200_000_000 }));
  assert.deepEqual(outcome, { kind: 'out_of_memory' });
});

test('an abort kills the child before the call returns', async () => {
  const file = path.join(folder, 'aborted');
  const aborting = new AbortController();
  const outcome = runChild(await child(announcing(file), { signal: aborting.signal }));
  const processId = await written(file);
  aborting.abort();
  assert.deepEqual(await outcome, { kind: 'aborted' });
  assert.ok(!isAlive(processId));
  const never = await child('return 1;', { signal: AbortSignal.abort() });
  assert.deepEqual(await runChild(never), { kind: 'aborted' });
});

test('the child ends when its parent is killed', async () => {
  const file = path.join(folder, 'orphan');
  const job = await child(announcing(file));
  const asking = `import { runChild } from '${CHILD_ROOM}';
    await runChild({ ...${JSON.stringify(job)}, script: new URL('${job.script.href}') });`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', asking]);
  const orphan = await written(file);
  parent.kill('SIGKILL');
  while (isAlive(orphan)) await breathe();
});
