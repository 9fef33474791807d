import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { childrenOf, residentMemory } from '../process-usage.ts';

/** Runs an installer to its end. @throws Error with what it printed */
export async function install(file: string, args: string[], cwd: string): Promise<void> {
  await promisify(execFile)(file, args, { cwd, maxBuffer: 1e8 });
}

const START_SECONDS = 90;

/**
 * Starts a peer in a process group of its own and waits until it responds at `url`.
 * @throws Error with its output, when it ends or does not respond
 */
export async function startPeer(
  command: readonly [string, ...string[]],
  options: { cwd: string; env: Record<string, string>; url: string },
): Promise<{ pid: number } & AsyncDisposable> {
  const { cwd, env, url } = options;
  const [file, ...args] = command;
  const child = spawn(file, args, {
    cwd,
    detached: true,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const read = (bytes: Buffer) => {
    output = (output + bytes).slice(-4000);
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  for (let tries = 0; !(await responds(url)); tries += 1) {
    if (child.exitCode !== null || tries > START_SECONDS * 5) {
      await end(child);
      throw new Error(`${file} does not respond: ${output}`);
    }
    await delay(200);
  }
  return { pid: child.pid ?? 0, [Symbol.asyncDispose]: () => end(child) };
}

async function responds(url: string): Promise<boolean> {
  return fetch(url).then(
    (response) => response.status < 500,
    () => false,
  );
}

/** Ends the whole group: a peer may have workers. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const exited = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await exited;
}

/** The resident memory of a process and of all that it started, in megabytes. */
export async function memoryOfTree(pid: number): Promise<number> {
  const { nowBytes } = await residentMemory(pid);
  const below = await Promise.all((await childrenOf(pid)).map(memoryOfTree));
  return below.reduce((sum, megabytes) => sum + megabytes, Math.round(nowBytes / 2 ** 20));
}
