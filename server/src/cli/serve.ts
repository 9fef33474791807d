// The room cli/: the command line. `serve` runs the service in one process or supervises several;
// other commands are the verbs of operator/.

import { mkdtemp, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { makeFolders } from 'embedded-postgres';
import type { Config } from '../config/config.ts';
import { checkProviderAddresses } from '../config/provider-addresses.ts';
import { isDiskFull, UsageError } from '../kernel/errors.ts';
import { createLog, type Log } from '../kernel/log.ts';
import { type OpenedDatabase, openForService } from '../open-database.ts';
import { startService } from '../service.ts';
import { setTracer } from '../telemetry/tracing.ts';
import { warnOfConnections } from './connection-budget.ts';
import { type StopRequest, stopRequest } from './stop-request.ts';
import { supervise } from './supervise.ts';
import { welcome } from './welcome.ts';

export interface ProcessOptions {
  log: Log;
  stop: StopRequest;
  /** Set if the start has several processes; the supervisor has migrated the database. */
  processName?: string;
  onStarted(opened: OpenedDatabase, url: string | undefined): Promise<void>;
}

/** Runs the service until it is asked to stop. @returns the exit code */
export async function serve(config: Config): Promise<number> {
  const log = createLog({ level: config.logLevel });
  const stop = stopRequest(log);
  checkProviderAddresses(config, log);
  if (config.processes > 1 && config.roles.has('api')) return supervise(config, { log, stop });
  return runRoles(config, {
    log,
    stop,
    onStarted: async ({ db }, url) => {
      await warnOfConnections(config, { db, log });
      if (url !== undefined) await welcome(config, db, url);
    },
  });
}

/** Like {@link serve}, in this process alone. */
export async function runRoles(config: Config, options: ProcessOptions): Promise<number> {
  const { log, stop, processName } = options;
  const stopTracing = await startTracing(config, log);
  const opened = await openForService(config, {
    log,
    stop,
    migrates: processName === undefined,
    connections: config.databaseConnections,
  });
  try {
    await requireDataFolder(config.dataDir);
    const service = await startService(config, opened, log, {}, processName);
    stop.markStarted();
    try {
      await options.onStarted(opened, service.url);
      const code = await stop.requested;
      log.info('shutting down: finishing the steps under way');
      return code;
    } finally {
      await service.stop();
      log.info('stopped');
    }
  } finally {
    await opened.close();
    await stopTracing();
  }
}

/** Loads OpenTelemetry's packages if needed. @returns a function that sends the last spans */
async function startTracing({ tracing }: Config, log: Log): Promise<() => Promise<void>> {
  if (!tracing) return async () => {};
  const { openTracer } = await import('../telemetry/otel-tracer.ts');
  const tracer = openTracer(tracing, (cause) => {
    log.warn({ cause }, 'traces could not be sent: they are dropped');
  });
  setTracer(tracer);
  log.info({ sampler: tracing.sampler, ratio: tracing.ratio }, 'tracing is on');
  return async () => {
    setTracer(undefined);
    await tracer.close();
  };
}

/**
 * A full disk does not refuse the start: clients can still read their tasks.
 * @throws UsageError when the data folder can't be created or written to
 */
export async function requireDataFolder(dataDir: string): Promise<void> {
  try {
    await makeFolders(dataDir, 0o700);
    await rmdir(await mkdtemp(path.join(dataDir, '.written-')));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    if (isDiskFull(error)) return;
    throw new UsageError(
      `the data folder can't be used: ${error.message}. ` +
        'Set DATA_DIR to a folder that this user can write to.',
    );
  }
}
