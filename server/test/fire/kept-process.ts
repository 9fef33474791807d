import type { ChildProcess } from 'node:child_process';

/** What runs, and how to end it. */
export interface Running {
  kill(signal?: NodeJS.Signals): Promise<unknown>;
  /** Missing where nobody can look at it. */
  process?: ChildProcess;
  /** What it wrote so far. */
  output?(): string;
}

/** A process that is started again at once whenever it is killed, until it is let go. */
export interface KeptProcess<Process extends Running> {
  readonly name: string;
  /** As it runs now; waits while it is down. */
  current(): Promise<Process>;
  /** SIGKILL. Resolves when it is gone; it is on its way up again then. */
  kill(): Promise<void>;
  /** Ends it for good. */
  letGo(): Promise<void>;
  readonly kills: number;
  /** Starts that failed, for example while the database was away; each was tried again. */
  readonly failedStarts: string[];
  /** How it ended when nobody had asked it to. */
  readonly ownEnds: string[];
  /** What each of its lives wrote. */
  readonly outputs: string[];
}

/**
 * Starts a process and keeps it running.
 * @param start also called after each kill, and again when it failed
 */
export function keepRunning<Process extends Running>(
  name: string,
  start: () => Promise<Process>,
): KeptProcess<Process> {
  let kills = 0;
  let isLetGo = false;
  const failedStarts: string[] = [];
  const ownEnds: string[] = [];
  const isAsked = new WeakSet<Process>();
  const lives: Process[] = [];

  const startInTheEnd = async (): Promise<Process> => {
    for (;;) {
      try {
        return watch(await start());
      } catch (error) {
        failedStarts.push(String(error));
        if (isLetGo) throw error;
      }
    }
  };
  const watch = (running: Process): Process => {
    lives.push(running);
    running.process?.once('exit', (code, signal) => {
      if (isAsked.has(running)) return;
      ownEnds.push(`${name} ended by itself (${code ?? signal})`);
      current = startInTheEnd();
    });
    return running;
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const running = await current;
    isAsked.add(running);
    await running.kill(signal);
  };
  let current = startInTheEnd();
  return {
    ...{ name, failedStarts, ownEnds },
    current: () => current,
    async kill() {
      await end('SIGKILL');
      kills += 1;
      current = startInTheEnd();
    },
    async letGo() {
      isLetGo = true;
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
