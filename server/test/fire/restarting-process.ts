import type { ChildProcess } from 'node:child_process';

/** One run of the process, and how to end it. */
interface RunningProcess {
  kill(signal?: NodeJS.Signals): Promise<unknown>;
  /** Missing if the process can't be observed. */
  process?: ChildProcess;
  /** What it wrote so far. */
  output?(): string;
}

/** A process that is restarted at once when it is killed, until it is stopped. */
export interface RestartingProcess<Process extends RunningProcess> {
  readonly name: string;
  /** The current run; waits while the process is down. */
  current(): Promise<Process>;
  /** Sends SIGKILL; resolves when the process has ended and its restart has begun. */
  kill(): Promise<void>;
  /** Ends it for good. */
  stop(): Promise<void>;
  readonly kills: number;
  /** Starts that failed, for example while the database was down; each was retried. */
  readonly failedStarts: string[];
  /** Ends that the test did not cause. */
  readonly unexpectedExits: string[];
  /** The output of each run. */
  readonly outputs: string[];
}

/**
 * Starts a process and keeps it running.
 * @param start called again after each kill, and after each failure of its own
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
  const runs: Process[] = [];

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
    runs.push(running);
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
    name,
    failedStarts,
    unexpectedExits,
    current: () => current,
    async kill() {
      await end('SIGKILL');
      kills += 1;
      current = startWithRetries();
    },
    async stop() {
      isStopped = true;
      await end('SIGKILL').catch(() => {}); // a process that no longer starts has ended
    },
    get kills() {
      return kills;
    },
    get outputs() {
      return runs.map((run) => run.output?.() ?? '');
    },
  };
}
