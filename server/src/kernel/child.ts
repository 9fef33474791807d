import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The result of a child, or why it has no result. */
export type ChildOutcome =
  | { kind: 'completed'; result: unknown }
  | { kind: 'timed_out' }
  | { kind: 'out_of_memory' }
  | { kind: 'aborted' }
  /** It ended without a result: by a signal (SIGSEGV, ...), or by itself when `signal` is null. */
  | { kind: 'crashed'; signal: NodeJS.Signals | null; cause: string };

export interface ChildOptions {
  /** The TypeScript file that the child runs; it must call {@link serveParent}. */
  script: URL;
  /** Extra flags of Node for the child. */
  nodeFlags?: string[];
  /** Sent as one line of JSON. */
  input: unknown;
  /** Open file descriptors that the child has as 3, 4, ... */
  fileDescriptors?: number[];
  timeoutSeconds: number;
  /** Resident memory above which the child is killed (checked on Linux only). */
  memoryBytes: number;
  signal?: AbortSignal | undefined;
}

const MAX_RESULT_CHARACTERS = 64 * 1024;
const MAX_ERROR_CHARACTERS = 2000;

/**
 * Runs a script in a child process with an empty environment, so that untrusted bytes never share a
 * process with secrets or the database. The child ends with its parent, also when the parent is
 * killed, because its standard input closes. It leads its own process group, so that a Ctrl-C for
 * the service does not end it. The child has ended when this returns.
 * @throws when the child could not be started (a failure of the service, not of the input)
 */
export async function runChild(options: ChildOptions): Promise<ChildOutcome> {
  if (options.signal?.aborted) return { kind: 'aborted' };
  const flags = options.nodeFlags ?? [];
  const child = spawn(process.execPath, [...flags, fileURLToPath(options.script)], {
    env: {},
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', ...(options.fileDescriptors ?? [])],
  });
  const limits = new AbortController();
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  try {
    return await Promise.race([exchange(child, options.input), limited(child, options, limits)]);
  } finally {
    limits.abort();
    child.kill('SIGKILL');
    await gone;
  }
}

/** Resolves with the first limit that is exceeded; never resolves once `limits` is aborted. */
function limited(child: ChildProcess, options: ChildOptions, limits: AbortController) {
  const first = Promise.race([
    delay(options.timeoutSeconds * 1000, { kind: 'timed_out' } as const, { signal: limits.signal }),
    memoryExceeded(child, options.memoryBytes, limits.signal),
    aborted(options.signal, limits.signal),
  ]);
  return first.catch(() => new Promise<never>(() => {}));
}

/** Sends the input and reads one line. How the child exits after that line does not matter. */
function exchange(child: ChildProcess, input: unknown): Promise<ChildOutcome> {
  let line = '';
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-MAX_ERROR_CHARACTERS);
  });
  child.stdin?.on('error', () => {}); // the exit event reports a child that died early
  child.stdin?.write(`${JSON.stringify(input)}\n`);
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      line += text;
      if (line.length > MAX_RESULT_CHARACTERS) resolve(crashed(null, 'the result is too long'));
      else if (line.endsWith('\n')) resolve(outcomeOf(line));
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      resolve(crashed(signal, `${signal ?? `exit ${code}`}: ${errors.trim()}`));
    });
  });
}

function outcomeOf(line: string): ChildOutcome {
  try {
    const message: unknown = JSON.parse(line);
    if (typeof message !== 'object' || message === null) return crashed(null, 'not a result');
    if ('failure' in message) return crashed(null, String(message.failure));
    return { kind: 'completed', result: 'result' in message ? message.result : undefined };
  } catch {
    return crashed(null, 'the result is not JSON');
  }
}

function crashed(signal: NodeJS.Signals | null, cause: string): ChildOutcome {
  return { kind: 'crashed', signal, cause };
}

async function memoryExceeded(child: ChildProcess, bytes: number, signal: AbortSignal) {
  while (process.platform === 'linux') {
    await delay(50, undefined, { signal });
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    const resident = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
    if (resident > bytes) return { kind: 'out_of_memory' } as const;
  }
  return new Promise<never>(() => {});
}

function aborted(outer: AbortSignal | undefined, inner: AbortSignal) {
  return new Promise<{ kind: 'aborted' }>((resolve) => {
    outer?.addEventListener('abort', () => resolve({ kind: 'aborted' }), { signal: inner });
  });
}

/**
 * The child's side: reads the input, writes the result of `work` as one line of JSON, and ends. The
 * child also ends when the parent is gone. When `work` throws, the parent gets `crashed` with the
 * stack.
 */
export async function serveParent(work: (input: unknown) => Promise<unknown>): Promise<void> {
  const lines = createInterface({ input: process.stdin });
  lines.once('close', endAtOnce);
  const input: unknown = await new Promise((resolve) => {
    lines.once('line', (line) => resolve(JSON.parse(line)));
  });
  const message = await work(input).then(
    (result) => ({ result }),
    (error) => ({ failure: String(error?.stack ?? error).slice(0, MAX_ERROR_CHARACTERS) }),
  );
  process.stdout.write(`${JSON.stringify(message)}\n`, endAtOnce);
}

/** Uses SIGKILL: a normal exit with an open demuxer was seen to loop in native clean-up. */
function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL');
}
