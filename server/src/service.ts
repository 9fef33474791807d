import { listenForClients } from './api-role.ts';
import type { Config } from './config/config.ts';
import { requireDurableCommits, requireSessionSettings } from './database/server.ts';
import { listen } from './http/listen.ts';
import { healthRoutes } from './http/operations/health.ts';
import { createMetrics } from './http/operations/metrics.ts';
import type { Log } from './kernel/log.ts';
import type { OpenedDatabase } from './open-database.ts';
import { isReady } from './readiness.ts';
import {
  type Closers,
  type GuardedFetchSettings,
  type Opened,
  openParts,
} from './service-parts.ts';
import { diskCheck } from './storage/free-space.ts';
import { buildWorker } from './worker-role.ts';

export interface Service {
  /** The URL that the API listens on; undefined without the api role. */
  url: string | undefined;
  /** Drains the service and closes its parts in reverse order. */
  stop(): Promise<void>;
}

/**
 * Creates and connects all parts of the service, and starts the configured roles.
 * @param processName this process's name, where one start has several
 */
export async function startService(
  config: Config,
  opened: OpenedDatabase,
  log: Log,
  guardedFetch: GuardedFetchSettings = {},
  processName?: string,
): Promise<Service> {
  if (config.clientHosts.allow.size > 0) {
    const hosts = [...config.clientHosts.allow];
    log.warn({ hosts }, 'OUTBOUND_ALLOW lets clients reach these hosts');
  }
  const closers: Closers = [];
  const stop = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const url = await startRoles(config, { ...opened, log, guardedFetch, processName }, closers);
    return { url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startRoles(
  config: Config,
  opened: Omit<Opened, 'publicUrl' | 'metrics'>,
  closers: Closers,
): Promise<string | undefined> {
  const { db, log } = opened;
  const { host, metricsPort, roles, databaseVolatile } = config;
  if (roles.has('worker') && !databaseVolatile) await requireDurableCommits(db);
  if (config.databaseDirectUrl !== undefined) await requireSessionSettings(db, databaseVolatile);
  const metrics = createMetrics(db, opened.processName);
  closers.push(() => metrics.app.close());
  let isStarted = false;
  healthRoutes(metrics.app, {
    isReady: async () => isStarted && (await isReady({ db, log })),
    isDiskFull: diskCheck(config),
  });
  if (metricsPort !== undefined) {
    await listen(metrics.app, { host, port: metricsPort, variable: 'METRICS_PORT' });
  }
  let publicUrl = config.publicUrl ?? '';
  const given = { ...opened, metrics, publicUrl: () => publicUrl };
  const parts = await openParts(config, given, closers);
  const worker = roles.has('worker') ? buildWorker(config, parts, closers) : undefined;
  const url = roles.has('api') ? await listenForClients(config, parts, closers) : undefined;
  publicUrl ||= url ?? ''; // with PORT=0, only known now
  closers.push(async () => {
    isStarted = false;
    await worker?.stopClaiming();
  });
  await worker?.start();
  isStarted = true;
  return url;
}
