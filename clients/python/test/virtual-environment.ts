import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { unlessLong } from '../../../server/test/long.ts';
import { temporaryFolder } from '../../../server/test/temporary-folder.ts';

/** The folder of the Python SDK. */
export const FOLDER = path.join(import.meta.dirname, '..');

const PYTHON = 'python3';

/** Why tests that need Python are skipped, if they are. */
export const withoutPython =
  unlessLong ||
  (spawnSync(PYTHON, ['-m', 'venv', '--help']).status !== 0 && `there is no ${PYTHON}`);

/** The variables of a program, and its folder. */
type Own = Record<string, string> & { cwd?: string };

/** Python in a folder of its own, with packages from PyPI. */
export interface VirtualEnvironment extends AsyncDisposable {
  /**
   * Runs one of its programs, in the folder of the SDK unless `cwd` names another.
   * @throws Error with what it printed, unless it exits with 0
   */
  run(program: string, args: string[], own?: Own): Promise<string>;
  /** The path of one of its programs. */
  program(name: string): string;
}

/** @param packages as pip takes them */
export async function openVirtualEnvironment(packages: string[]): Promise<VirtualEnvironment> {
  const folder = await temporaryFolder();
  const program = (name: string) => path.join(folder.path, 'bin', name);
  await output(PYTHON, ['-m', 'venv', folder.path]);
  await output(program('pip'), ['install', '--quiet', ...packages]);
  return {
    program,
    run: (name, args, own) => output(program(name), args, own),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

async function output(program: string, args: string[], own: Own = {}): Promise<string> {
  const { cwd = FOLDER, ...variables } = own;
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...variables };
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part) => {
      text += part;
    });
  }
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${path.basename(program)} ended with ${code}:\n${text}`);
  return text;
}
