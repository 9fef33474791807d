import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export type ChildOutcome =
  | { kind: 'completed'; result: unknown }
  | { kind: 'timed_out' }
  | { kind: 'out_of_memory' }
  | { kind: 'aborted' }
  /** Ended without a result: by a signal (SIGSEGV, ...), or by itself when `signal` is null. */
  | { kind: 'crashed'; signal: NodeJS.Signals | null; cause: string };

export interface ChildProgram {
  /** The TypeScript file that the child runs; it must call {@link serveParent}. */
  script: URL;
  nodeFlags?: string[];
}

export interface ChildWork {
  /** Sent as one line of JSON. */
  input: unknown;
  timeoutSeconds: number;
  /** Resident memory above which the child is killed (checked on Linux only). */
  memoryBytes: number;
  signal?: AbortSignal | undefined;
}

export type ChildOptions = ChildProgram & ChildWork;

/** A poster is the longest result. */
const MAX_RESULT_CHARACTERS = 512 * 1024;
const MAX_ERROR_CHARACTERS = 2000;

/** A child process that does one piece of work at a time. */
export type Child = ReturnType<typeof startChild>;

/**
 * Starts a script in a process without our environment variables, except the compile cache, so that
 * untrusted bytes never share a process with secrets. When its parent ends or is killed, its
 * standard input closes, and it ends. A process group of its own keeps a Ctrl-C from ending it.
 */
export function startChild({ script, nodeFlags = [] }: ChildProgram) {
  const child = spawn(process.execPath, [...nodeFlags, fileURLToPath(script)], {
    env: compileCache(),
    detached: true,
    stdio: 'pipe',
  });
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const exchange = openExchange(child);
  return {
    /**
     * Gives the child work. After any outcome but `completed`, it can't be used again.
     * @throws when the child could not be started (a failure of the service, not of the input)
     */
    async run(work: ChildWork): Promise<ChildOutcome> {
      if (work.signal?.aborted) return { kind: 'aborted' };
      const limits = watchLimits(child, work);
      try {
        return await Promise.race([exchange(work.input), limits.exceeded]);
      } finally {
        limits.stop();
      }
    },
    /** The child's resident memory; 0 where that can't be read. */
    residentBytes: () => residentBytes(child),
    /** Kills the child, which has ended when this returns. */
    async end() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** Where Node keeps compiled sources, if it does: with them, a child starts in half the time. */
function compileCache(): NodeJS.ProcessEnv {
  const folder = getCompileCacheDir(); // a subfolder for this version of Node
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: path.dirname(folder) };
}

export async function runChild(options: ChildOptions): Promise<ChildOutcome> {
  if (options.signal?.aborted) return { kind: 'aborted' };
  const child = startChild(options);
  try {
    return await child.run(options);
  } finally {
    await child.end();
  }
}

const MEMORY_CHECK_MS = 50;

/** `exceeded` resolves with the first limit that is exceeded, until `stop` is called. */
function watchLimits(child: ChildProcess, { timeoutSeconds, memoryBytes, signal }: ChildWork) {
  const { promise: exceeded, resolve } = Promise.withResolvers<ChildOutcome>();
  const timer = setTimeout(() => resolve({ kind: 'timed_out' }), timeoutSeconds * 1000);
  const memoryChecks = setInterval(() => {
    if (residentBytes(child) > memoryBytes) resolve({ kind: 'out_of_memory' });
  }, MEMORY_CHECK_MS);
  const abort = () => resolve({ kind: 'aborted' });
  signal?.addEventListener('abort', abort);
  return {
    exceeded,
    stop() {
      clearTimeout(timer);
      clearInterval(memoryChecks);
      signal?.removeEventListener('abort', abort);
    },
  };
}

/**
 * Returns a function that sends an input and reads the line that answers it. How the child exits
 * after its last line does not matter; a child that writes unasked counts as crashed.
 */
function openExchange(child: ChildProcessWithoutNullStreams) {
  let text = '';
  let errors = '';
  let end: ChildOutcome | undefined;
  let failure: Error | undefined;
  let change = Promise.withResolvers<void>();
  const notify = () => {
    change.resolve();
    change = Promise.withResolvers();
  };
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    errors = (errors + part).slice(-MAX_ERROR_CHARACTERS);
  });
  child.stdin.on('error', () => {}); // the exit event reports a child that died early
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    if (text.length <= MAX_RESULT_CHARACTERS) text += part;
    notify();
  });
  child.once('error', (error) => {
    failure = error;
    notify();
  });
  child.once('close', (code, signal) => {
    end = crashed(signal, `${signal ?? `exit ${code}`}: ${errors.trim()}`);
    notify();
  });
  return async (input: unknown): Promise<ChildOutcome> => {
    if (text !== '') return crashed(null, 'it wrote before it had work');
    if (!failure && !end) child.stdin.write(`${JSON.stringify(input)}\n`);
    for (;;) {
      if (failure) throw failure;
      if (text.length > MAX_RESULT_CHARACTERS) return crashed(null, 'the result is too long');
      if (text.endsWith('\n')) {
        const line = text;
        text = '';
        return outcomeOf(line);
      }
      if (end) return end;
      await change.promise;
    }
  };
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

// Synchronous: the kernel makes this file from memory, and a read through the thread pool would
// wait behind syncs of the disk.
function residentBytes({ pid }: ChildProcess): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(statusOf(pid))?.[1] ?? 0) * 1024;
}

function statusOf(pid: number | undefined): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}

/**
 * The child's side: writes the result of `work` for each input as one line of JSON, until the
 * parent is gone. When `work` throws, the parent gets `crashed` with the stack.
 */
export async function serveParent(work: (input: unknown) => Promise<unknown>): Promise<void> {
  const lines = createInterface({ input: process.stdin });
  lines.once('close', endAtOnce);
  lines.on('line', async (line) => {
    const message = await work(JSON.parse(line)).then(
      (result) => ({ result }),
      (error) => ({ failure: String(error?.stack ?? error).slice(0, MAX_ERROR_CHARACTERS) }),
    );
    process.stdout.write(`${JSON.stringify(message)}\n`);
  });
}

/** Uses SIGKILL: a normal exit with an open demuxer was seen to loop in native clean-up. */
function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL');
}
