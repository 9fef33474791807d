import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TEST_CA_FILE } from './tls/certificates.ts';

const CLI = new URL('../src/framewright.ts', import.meta.url).pathname;

/** A service in a process of its own; `await using` kills what still runs. */
export interface ServiceProcess extends AsyncDisposable {
  url: string;
  process: ChildProcess;
  /** What it wrote so far, standard output and error together. */
  output(): string;
  /** Ends it with a signal and resolves when it is gone. */
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

/** The variables every service of a test gets, before its own. It trusts the test's media hosts. */
export function serviceEnvironment(own: Record<string, string>): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    NODE_EXTRA_CA_CERTS: fileURLToPath(TEST_CA_FILE),
    NODE_NO_WARNINGS: '1',
    PORT: '0',
    POLL_MIN_SECONDS: '0.2',
    POLL_MAX_SECONDS: '0.5',
    ...own,
  };
}

/**
 * Starts `framewright serve` and waits until the API listens (or, without that role, works).
 * @param program another program that starts the service in its own way
 */
export async function startServiceProcess(
  own: Record<string, string>,
  program: string[] = [CLI, 'serve'],
): Promise<ServiceProcess> {
  const child = spawn(process.execPath, program, {
    env: serviceEnvironment(own),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const { promise: ready, resolve, reject } = Promise.withResolvers<string>();
  const read = (text: string) => {
    output += text;
    const url = /"url":"([^"]+)","msg":"the API is listening"/.exec(output)?.[1];
    if (url) resolve(url);
    if (output.includes('"the worker is working"') && own.ROLES === 'worker') resolve('');
  };
  child.stdout.setEncoding('utf8').on('data', read);
  child.stderr.setEncoding('utf8').on('data', read);
  child.once('exit', (code) => reject(new Error(`the service ended (${code}): ${output}`)));
  const kill = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    child.kill(signal);
    const [code] = await once(child, 'exit');
    return code;
  };
  const url = await ready;
  return {
    ...{ url, process: child, kill },
    output: () => output,
    async [Symbol.asyncDispose]() {
      await kill('SIGKILL');
    },
  };
}

/** Runs one operator command and returns what it printed as JSON. */
export async function runOperatorCommand(
  env: Record<string, string>,
  ...args: string[]
): Promise<unknown> {
  const child = spawn(process.execPath, [CLI, ...args, '--json'], {
    env: serviceEnvironment(env),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  await once(child, 'close');
  return JSON.parse(text);
}
