import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** How a child ended: with its answer, or why there is none. */
export type ChildOutcome =
  | { kind: 'answered'; answer: unknown }
  | { kind: 'timed_out' }
  | { kind: 'out_of_memory' }
  | { kind: 'aborted' }
  /** Ended without an answer: by a signal (SIGSEGV, ...), or by itself when that is null. */
  | { kind: 'crashed'; signal: NodeJS.Signals | null; cause: string };

export interface ChildJob {
  /** The TypeScript file the child runs; it must call {@link serveParent}. */
  script: URL;
  /** Extra flags of Node for the child. */
  nodeFlags?: string[];
  /** The question, sent as one line of JSON. */
  question: unknown;
  /** Open file descriptors the child finds as 3, 4, ... */
  fileDescriptors?: number[];
  timeoutSeconds: number;
  /** Resident memory above which the child is killed (checked on Linux only). */
  memoryBytes: number;
  signal?: AbortSignal | undefined;
}

const ANSWER_CHARACTERS = 64 * 1024;
const COMPLAINT_CHARACTERS = 2000;

/**
 * Runs one question in a child process with an empty environment, so that untrusted bytes never
 * share a process with secrets or the database. The child ends with its parent, also when the
 * parent is killed: its standard input closes. It leads a process group of its own, so that a
 * Ctrl-C meant for the service does not end it. When this returns the child is gone.
 * @throws when the child could not be started at all (our failure, not the input's)
 */
export async function askChild(job: ChildJob): Promise<ChildOutcome> {
  if (job.signal?.aborted) return { kind: 'aborted' };
  const flags = job.nodeFlags ?? [];
  const child = spawn(process.execPath, [...flags, fileURLToPath(job.script)], {
    env: {},
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', ...(job.fileDescriptors ?? [])],
  });
  const limits = new AbortController();
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  try {
    return await Promise.race([conversation(child, job.question), stopped(child, job, limits)]);
  } finally {
    limits.abort();
    child.kill('SIGKILL');
    await gone;
  }
}

/** The first limit that is passed; stays pending once `limits` is aborted. */
function stopped(child: ChildProcess, job: ChildJob, limits: AbortController) {
  const first = Promise.race([
    delay(job.timeoutSeconds * 1000, { kind: 'timed_out' } as const, { signal: limits.signal }),
    memoryExceeded(child, job.memoryBytes, limits.signal),
    aborted(job.signal, limits.signal),
  ]);
  return first.catch(() => new Promise<never>(() => {}));
}

/** The answer is whole with its line's end: how the child exits after it does not matter. */
function conversation(child: ChildProcess, question: unknown): Promise<ChildOutcome> {
  let answer = '';
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-COMPLAINT_CHARACTERS);
  });
  child.stdin?.on('error', () => {}); // a child that died early says so by its exit
  child.stdin?.write(`${JSON.stringify(question)}\n`);
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
      const whole = answer.endsWith('\n') && answer.length <= ANSWER_CHARACTERS;
      if (whole) resolve(answered(answer));
      if (answer.length > ANSWER_CHARACTERS) resolve(crashed(null, 'the answer is too long'));
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      resolve(crashed(signal, `${signal ?? `exit ${code}`}: ${complaint.trim()}`));
    });
  });
}

function answered(line: string): ChildOutcome {
  try {
    const reply: unknown = JSON.parse(line);
    if (typeof reply !== 'object' || reply === null) return crashed(null, 'not a reply');
    if ('failure' in reply) return crashed(null, String(reply.failure));
    return { kind: 'answered', answer: 'answer' in reply ? reply.answer : undefined };
  } catch {
    return crashed(null, 'the reply is not JSON');
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
 * The child's side: reads the one question, replies with one line of JSON and ends, as it does when
 * the parent is gone. What `answer` throws is a reply too: the parent sees `crashed`.
 */
export async function serveParent(answer: (question: unknown) => Promise<unknown>): Promise<void> {
  const lines = createInterface({ input: process.stdin });
  lines.once('close', endAtOnce);
  const question: unknown = await new Promise((resolve) => {
    lines.once('line', (line) => resolve(JSON.parse(line)));
  });
  const reply = await answer(question).then(
    (value) => ({ answer: value }),
    (error) => ({ failure: String(error?.stack ?? error).slice(0, COMPLAINT_CHARACTERS) }),
  );
  process.stdout.write(`${JSON.stringify(reply)}\n`, endAtOnce);
}

/** By a signal: an orderly exit with an open demuxer was seen to spin in native clean-up. */
function endAtOnce(): void {
  process.kill(process.pid, 'SIGKILL');
}
