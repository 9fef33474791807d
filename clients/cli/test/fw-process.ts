import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { INHERITED } from '../../../server/test/service/service-process.ts';
import { temporaryFolder } from '../../../server/test/temporary-folder.ts';
import { until } from '../../../server/test/until.ts';

const FW = fileURLToPath(new URL('../src/fw.ts', import.meta.url));

/** The end of a command, and what it wrote. */
export interface Run {
  code: number | null;
  out: string;
  err: string;
}

/** A machine on which somebody uses `fw`: its folders and its variables. */
export interface Machine extends AsyncDisposable {
  folder: string;
  env: Record<string, string>;
  start(...args: string[]): ChildProcessWithoutNullStreams;
  /** Runs a command with nothing on its standard input. */
  fw(...args: string[]): Promise<Run>;
  /** Runs a shell command in a pseudo-terminal. */
  inTerminal(command: string): Terminal;
  /** The journal's files, one for each unfinished generation. */
  unfinished(): Promise<string[]>;
}

export async function openMachine(variables: Record<string, string>): Promise<Machine> {
  const folder = await temporaryFolder();
  const env = { ...INHERITED, HOME: folder.path, NODE_NO_WARNINGS: '1', ...variables };
  const start = (...args: string[]) =>
    spawn(process.execPath, [FW, ...args], { env, cwd: folder.path });
  return {
    folder: folder.path,
    env,
    start,
    async fw(...args) {
      const child = start(...args);
      child.stdin.end();
      return endOf(child);
    },
    inTerminal: (command) => openTerminal(command, env, folder.path),
    unfinished: async () => {
      const journal = path.join(folder.path, '.local/state/framewright/generations');
      return (await readdir(journal).catch(() => [])).filter((name) => name.endsWith('.json'));
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** The end of a process that was started. */
export async function endOf(child: ChildProcessWithoutNullStreams): Promise<Run> {
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, out, err };
}

/** `fw` as a word of a shell. */
export const FW_COMMAND = `'${process.execPath}' '${FW}'`;

// Node alone can't make a terminal.
const SCRIPT = 'script';
const hasScript = spawnSync(SCRIPT, ['--version']).stdout?.includes('util-linux') ?? false;

/** Why tests in a terminal are skipped; false: they are not. */
export const noTerminal = hasScript
  ? false
  : 'there is no script of util-linux, which makes a terminal';

/** A command in a pseudo-terminal. */
interface Terminal {
  /** @returns all that the screen has shown, once the pattern matches it */
  waitFor(pattern: RegExp): Promise<string>;
  type(input: string): void;
  end: Promise<number | null>;
}

function openTerminal(command: string, env: Record<string, string>, cwd: string): Terminal {
  const args = ['--quiet', '--flush', '--return', '--command', command, '/dev/null'];
  const child = spawn(SCRIPT, args, { env: { TERM: 'xterm', ...env }, cwd });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    screen += part;
  });
  return {
    waitFor: (pattern) =>
      until(
        async () => screen,
        (shown) => pattern.test(shown),
      ),
    type: (input) => void child.stdin.write(input),
    end: once(child, 'close').then(([code]) => code),
  };
}
