import type { ChildProcess } from 'node:child_process';

/** What runs, and how to end it. */
export interface RunningProcess {
  kill(signal?: NodeJS.Signals): Promise<unknown>;
  /** Missing where nobody can look at it. */
  process?: ChildProcess;
  /** What it wrote so far. */
  output?(): string;
}

/** A process that is started again at once whenever it is killed, until it is let go. */
export interface RestartingProcess<Process extends RunningProcess> {
  readonly name: string;
  /** As it runs now; waits while it is down. */
  current(): Promise<Process>;
  /** SIGKILL. Resolves when it is gone; it is on its way up again then. */
  kill(): Promise<void>;
  /** Ends it for good. */
  stop(): Promise<void>;
  readonly kills: number;
  /** Starts that failed, for example while the database was away; each was tried again. */
  readonly failedStarts: string[];
  /** How it ended when nobody had asked it to. */
  readonly unexpectedExits: string[];
  /** What each of its lives wrote. */
  readonly outputs: string[];
}

/**
 * Starts a process and keeps it running.
 * @param start also called after each kill, and again when it failed
 */
export function keepRunning<Process extends RunningProcess>(
  name: string,
  start: () => Promise<Process>,
): RestartingProcess<Process> {
  let kills = 0;
  let isStopped = false;
  const failedStarts: string[] = [];
  const unexpectedExits: string[] = [];
  const wasEnded = new WeakSet<Process>();
  const lives: Process[] = [];

  const startWithRetries = async (): Promise<Process> => {
    for (;;) {
      try {
        return watch(await start());
      } catch (error) {
        failedStarts.push(String(error));
        if (isStopped) throw error;
      }
    }
  };
  const watch = (running: Process): Process => {
    lives.push(running);
    running.process?.once('exit', (code, signal) => {
      if (wasEnded.has(running)) return;
      unexpectedExits.push(`${name} ended by itself (${code ?? signal})`);
      current = startWithRetries();
    });
    return running;
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const running = await current;
    wasEnded.add(running);
    await running.kill(signal);
  };
  let current = startWithRetries();
  return {
    ...{ name, failedStarts, unexpectedExits },
    current: () => current,
    async kill() {
      await end('SIGKILL');
      kills += 1;
      current = startWithRetries();
    },
    async stop() {
      isStopped = true;
      await end('SIGKILL').catch(() => {}); // one that does not start any more has ended
    },
    get kills() {
      return kills;
    },
    get outputs() {
      return lives.map((life) => life.output?.() ?? '');
    },
  };
}
