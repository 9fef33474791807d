import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { POOLER, POOLER_STATEMENTS, throughPooler } from '../database.ts';
import { TEST_CA_FILE } from '../tls/certificates.ts';
import { until } from '../until.ts';

const CLI = new URL('../../src/framewright.ts', import.meta.url).pathname;

/** A service in a process of its own; `await using` kills what still runs. */
export interface ServiceProcess extends AsyncDisposable {
  /** Where the API listens, if the process has that role. */
  url: string;
  /** Where its metrics are. */
  metricsUrl: string;
  process: ChildProcess;
  /** What it wrote so far, standard output and error together. */
  output(): string;
  /** Ends it with a signal and resolves when it is gone. */
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

/** The variables that every process of a test inherits. */
export const INHERITED: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? '',
  // Set by run.ts: sources that the tests have loaded are not compiled again.
  ...(process.env.NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
  ...(process.env.NODE_OPTIONS && { NODE_OPTIONS: process.env.NODE_OPTIONS }),
};

/** The variables every service of a test gets, before its own. It trusts the test's media hosts. */
export function serviceEnvironment(own: Record<string, string>): Record<string, string> {
  return {
    ...INHERITED,
    NODE_EXTRA_CA_CERTS: fileURLToPath(TEST_CA_FILE),
    NODE_NO_WARNINGS: '1',
    PORT: '0',
    PROVIDER: 'local',
    DATABASE_VOLATILE: 'yes',
    DRAIN_SECONDS: '0',
    POLL_MIN_SECONDS: '0.2',
    POLL_MAX_SECONDS: '0.5',
    POSTERS: 'no',
    CONTENT_CREDENTIALS: 'off',
    ...own,
    ...pooled(own),
  };
}

/** The addresses of a test database when the tests run through a pooler. */
function pooled({ DATABASE_URL: url, DATABASE_DIRECT_URL: direct }: Record<string, string>) {
  const isOfRun = url !== undefined && new URL(url).pathname.startsWith('/test_');
  if (POOLER === undefined || direct !== undefined || !isOfRun) return {};
  return { DATABASE_URL: throughPooler(url, POOLER), DATABASE_DIRECT_URL: url, POOLER_STATEMENTS };
}

type Ports = Record<'PORT' | 'METRICS_PORT', string>;

/** The longest start: an embedded database that is new takes longest. */
const START_SECONDS = 120;

/**
 * Starts `framewright serve` and waits until /readyz on its METRICS_PORT returns 200: every role has
 * started then. Ports that `own` does not name are free ones.
 * @param given the variables, or a function that makes them for the ports
 * @param program another program that starts the service in its own way
 * @throws Error with the output of a service that ended instead
 */
export async function startServiceProcess(
  given: Record<string, string> | ((ports: Ports) => Record<string, string>),
  program: string[] = [CLI, 'serve'],
): Promise<ServiceProcess> {
  for (;;) {
    const ports = { PORT: String(await freePort()), METRICS_PORT: String(await freePort()) };
    const own = typeof given === 'function' ? given(ports) : given;
    const service = spawnService({ ...ports, ...own }, program);
    const closed = once(service.process, 'close');
    const hasStarted = () => isReady(`http://127.0.0.1:${ports.METRICS_PORT}`);
    await until(
      async () => hasExited(service.process) || (await hasStarted()),
      Boolean,
      START_SECONDS,
    );
    if (!hasExited(service.process)) return service;
    const [code] = await closed; // all of its output is read then
    const lostPort = own.PORT === undefined && service.output().includes('the port is in use');
    if (!lostPort) throw new Error(`the service ended (${code}): ${service.output()}`);
  }
}

function spawnService(own: Record<string, string>, program: string[]): ServiceProcess {
  const child = spawn(process.execPath, program, {
    env: serviceEnvironment(own),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const read = (text: string) => {
    output += text;
  };
  child.stdout.setEncoding('utf8').on('data', read);
  child.stderr.setEncoding('utf8').on('data', read);
  const kill = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (hasExited(child)) return child.exitCode;
    child.kill(signal);
    const [code] = await once(child, 'exit');
    return code;
  };
  return {
    url: `http://127.0.0.1:${own.PORT}`,
    process: child,
    kill,
    metricsUrl: `http://127.0.0.1:${own.METRICS_PORT}/metrics`,
    output: () => output,
    async [Symbol.asyncDispose]() {
      await kill('SIGKILL');
    },
  };
}

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/readyz`).then(
    (response) => response.status === 200,
    () => false,
  );
}

/**
 * Each test process counts from a number of its own, below the ports that Linux gives to clients
 * (from 32768): two services that start at the same time do not choose the same one.
 */
let lastPort = 12_000 + ((process.pid * 37) % 20_000);

/** A port of this machine that nothing listens on. */
export async function freePort(): Promise<number> {
  for (;;) {
    lastPort += 1;
    const port = lastPort;
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  return once(server, 'listening').then(
    () => new Promise((resolve) => server.close(() => resolve(true))),
    () => false,
  );
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
