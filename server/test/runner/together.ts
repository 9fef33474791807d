import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { cpuTime, noteCpuTime } from './cpu-time.ts';

/**
 * Runs test files one after the other in this process: each is a suite with the name of its file,
 * to which its tests and hooks belong. The modules that they share are loaded once (decisions/0045).
 */
export async function runTogether(files: string[], timeout: number): Promise<void> {
  for (const file of files) await describe(file, { timeout }, () => defineTests(file));
}

/** What a file leaves changed, the files after it would meet: it fails. */
async function defineTests(file: string): Promise<void> {
  let atBegin: ReturnType<typeof processState>;
  const cpuAtBegin = cpuTime();
  after(() => noteCpuTime(file, cpuAtBegin));
  before(() => {
    atBegin = processState();
  });
  await import(pathToFileURL(file).href);
  after(() => assert.deepEqual(processState(), atBegin, `${file} leaves its process changed`));
}

const GLOBALS = Object.getOwnPropertyNames(globalThis);

/** What all files in one process share, and a test can change. */
function processState() {
  const listeners = process.eventNames().map((name) => [name, process.listenerCount(name)]);
  return {
    folder: process.cwd(),
    variables: { ...process.env },
    globals: GLOBALS.map((name) => [
      name,
      Reflect.getOwnPropertyDescriptor(globalThis, name)?.value,
    ]),
    listeners: Object.fromEntries(listeners),
  };
}
