import cluster, { type Worker } from 'node:cluster';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import { listen } from '../http/listen.ts';
import { healthRoutes } from '../http/operations/health.ts';
import { createSharedMetrics } from '../http/operations/shared-metrics.ts';
import type { Log } from '../kernel/log.ts';
import { openForService } from '../open-database.ts';
import { isReady } from '../readiness.ts';
import { builtPages } from '../site/pages/built-pages.ts';
import { diskCheck } from '../storage/free-space.ts';
import { FIRST_PROCESS_CONNECTIONS, warnOfConnections } from './connection-budget.ts';
import type { StopRequest } from './stop-request.ts';
import { welcome } from './welcome.ts';

const PROGRAM = fileURLToPath(new URL('./serve-one.ts', import.meta.url));

const PAUSE_SECONDS = { first: 1, longest: 30 };
/** A process that ran this long resets the backoff. */
const STABLE_SECONDS = 60;

interface Member {
  name: string;
  worker?: Worker;
  hasStarted?: boolean;
}

/**
 * Runs several API processes, which listen on one port, and one worker process if ROLES has
 * `worker`. A process that ends is restarted.
 * @returns the requested exit code; if the first process can't start, its exit code
 */
export async function supervise(
  config: Config,
  { log, stop }: { log: Log; stop: StopRequest },
): Promise<number> {
  const connections = FIRST_PROCESS_CONNECTIONS;
  const opened = await openForService(config, { log, stop, migrates: true, connections });
  stop.markStarted();
  const names = Array.from({ length: config.processes }, (_, index) => `api-${index + 1}`);
  if (config.roles.has('worker')) names.push('worker');
  const members = names.map((name): Member => ({ name }));
  const stopping = new AbortController();
  const { signal } = stopping;
  void stop.requested.then(() => stopping.abort());
  const isServing = () =>
    !signal.aborted && members.some(({ name, hasStarted }) => name !== 'worker' && hasStarted);
  const metrics = createSharedMetrics();
  healthRoutes(metrics, {
    isReady: async () => isServing() && (await isReady({ db: opened.db, log })),
    isDiskFull: diskCheck(config),
  });
  try {
    await builtPages(log); // once, not in every process
    await warnOfConnections(config, { db: opened.db, log });
    const { host, metricsPort: port } = config;
    if (port !== undefined) await listen(metrics, { host, port, variable: 'METRICS_PORT' });
    return await runMembers(members, { config, log, stop, db: opened.db, signal });
  } finally {
    await metrics.close();
    await opened.close();
  }
}

/** Starts the first process alone, so that a mistake is reported once, not by each process. */
async function runMembers(
  members: Member[],
  deps: { config: Config; log: Log; stop: StopRequest; db: Database; signal: AbortSignal },
): Promise<number> {
  const { config, log, stop, db, signal } = deps;
  const [first, ...others] = members;
  const running: Promise<void>[] = [];
  const firstUrl = Promise.withResolvers<string>();
  if (first) running.push(keepRunning(first, deps, firstUrl.resolve));
  const startOthers = async () => {
    const url = await firstUrl.promise;
    if (signal.aborted) return;
    running.push(...others.map((member) => keepRunning(member, deps)));
    await welcome(config, db, url);
  };
  const othersStarted = startOthers();
  othersStarted.catch(() => stop.request(1));
  const code = await stop.requested;
  log.info('shutting down: the processes finish the steps under way');
  firstUrl.resolve(''); // ends startOthers, if the first process has not started
  await othersStarted;
  for (const { worker } of members) worker?.process.kill('SIGTERM');
  await Promise.all(running);
  log.info('all processes have stopped');
  return code;
}

/**
 * Runs a process, and restarts it whenever it ends, until the signal aborts.
 * @param onStarted given for the first process only: if that ends before its start, all stop
 */
async function keepRunning(
  member: Member,
  { log, signal, stop }: { log: Log; signal: AbortSignal; stop: StopRequest },
  onStarted?: (url: string) => void,
): Promise<void> {
  let pause = PAUSE_SECONDS.first;
  let hasEverStarted = false;
  while (!signal.aborted) {
    const startedAt = performance.now();
    const { code, killedBy } = await runOnce(member, (url, pid) => {
      hasEverStarted = true;
      log.info({ started: member.name, pid }, 'a process has started');
      onStarted?.(url);
    });
    if (signal.aborted) return;
    if (!hasEverStarted && onStarted) return stop.request(code ?? 1);
    const seconds = (performance.now() - startedAt) / 1000;
    if (seconds > STABLE_SECONDS) pause = PAUSE_SECONDS.first;
    const ended = { ended: member.name, code, signal: killedBy, pause };
    log.error(ended, 'a process ended and is restarted');
    await delay(pause * 1000, undefined, { signal }).catch(() => {});
    pause = Math.min(pause * 2, PAUSE_SECONDS.longest);
  }
}

async function runOnce(
  member: Member,
  onStarted: (url: string, pid: number | undefined) => void,
): Promise<End> {
  cluster.setupPrimary({ exec: PROGRAM, args: [member.name] });
  const worker = cluster.fork();
  member.worker = worker;
  worker.on('message', (message: { started?: string }) => {
    if (message.started === undefined) return;
    member.hasStarted = true;
    onStarted(message.started, worker.process.pid);
  });
  const ended = await endOf(worker);
  delete member.worker;
  member.hasStarted = false;
  return ended;
}

interface End {
  code: number | null;
  killedBy: string | null;
}

function endOf(worker: Worker): Promise<End> {
  return new Promise((resolve) => {
    worker.on('exit', (code, killedBy) => resolve({ code, killedBy }));
    // A process that can't be forked never exits.
    worker.on('error', () => {
      if (worker.process.pid === undefined) resolve({ code: null, killedBy: null });
    });
  });
}
