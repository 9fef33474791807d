import path from 'node:path';
import { listenForClients } from './api-role.ts';
import { type Billing, learnAccount, openStripe, scopeOfKey } from './billing/stripe-client.ts';
import type { Config } from './config/config.ts';
import { followDatabaseClock } from './database/clock.ts';
import { requireDurableCommits, requireSessionSettings } from './database/server.ts';
import { listen } from './http/listen.ts';
import { healthRoutes } from './http/operations/health.ts';
import { createMetrics, type Metrics } from './http/operations/metrics.ts';
import { startInterval } from './kernel/interval.ts';
import type { Log } from './kernel/log.ts';
import { openScratchDirectory } from './kernel/scratch-directory.ts';
import { openMailer } from './mail/mailer.ts';
import type { OpenedDatabase } from './open-database.ts';
import type { HostRules } from './outbound/addresses.ts';
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
} from './outbound/guarded-fetch.ts';
import { openClosures } from './providers/circuit-breaker/closures.ts';
import type { HostedProvider } from './providers/provider.ts';
import { createProviders } from './providers/registry.ts';
import { isReady, WATCH_SECONDS } from './readiness.ts';
import type { Closers, ServiceParts } from './service-parts.ts';
import {
  diskCheck,
  type FreeSpace,
  MEASURE_SECONDS,
  openFreeSpace,
  type SpaceUse,
} from './storage/free-space.ts';
import { openLinks, SECRETS_SECONDS } from './storage/links.ts';
import { instrumentedStorage, openStorage } from './storage/open-storage.ts';
import { reservedOutputBytes } from './tasks/create/new-task.ts';
import { createWaiting } from './tasks/waiting.ts';
import { openWakeUps } from './tasks/wake-ups.ts';
import { warnOfUnserved } from './worker/live-workers.ts';
import { buildWorker } from './worker-role.ts';

/** How often the scratch directory is maintained. */
const MAINTAIN_SECONDS = 60;
/** How often Stripe is asked for its key's account, until it is known. */
const ACCOUNT_SECONDS = 60;

export interface Service {
  /** The URL that the API listens on; undefined without the api role. */
  url: string | undefined;
  /** Drains the service and closes its parts in reverse order. */
  stop(): Promise<void>;
}

/** Guarded fetch settings that are not configuration: timeouts, DNS lookup, trusted CAs. */
export type GuardedFetchSettings = Omit<GuardedFetchOptions, 'allow'>;

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
  const closers: Array<() => Promise<unknown>> = [];
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

/** The input of the start. */
interface Opened extends OpenedDatabase {
  log: Log;
  guardedFetch: GuardedFetchSettings;
  processName: string | undefined;
}

/** Creates all parts first, then listens, and starts the worker last. */
async function startRoles(
  config: Config,
  opened: Opened,
  closers: Closers,
): Promise<string | undefined> {
  const { db } = opened;
  const works = config.roles.has('worker');
  if (works && !config.databaseVolatile) await requireDurableCommits(db);
  if (config.databaseDirectUrl !== undefined) {
    await requireSessionSettings(db, config.databaseVolatile);
  }
  const metrics = createMetrics(db, opened.processName);
  let isStarted = false;
  healthRoutes(metrics.app, {
    isReady: async () => isStarted && (await isReady({ db, log: opened.log })),
    isDiskFull: diskCheck(config),
  });
  await listenForMetrics(config, metrics, closers);
  let publicUrl = config.publicUrl ?? '';
  const given = { ...opened, metrics, publicUrl: () => publicUrl };
  const shared = await openShared(config, given, closers);
  const providers = await openProviders(config, shared, closers);
  const worker = works ? buildWorker(config, { ...shared, providers }, closers) : undefined;
  let url: string | undefined;
  if (config.roles.has('api')) {
    url = await listenForClients(config, { ...shared, providers }, closers);
    publicUrl ||= url;
  }
  closers.push(async () => {
    isStarted = false;
    await worker?.stopClaiming();
  });
  await worker?.start();
  isStarted = true;
  return url;
}

type SharedParts = Omit<ServiceParts, 'providers'>;

/** Opens the parts that both roles use. */
async function openShared(
  config: Config,
  opened: Opened & Pick<SharedParts, 'metrics' | 'publicUrl'>,
  closers: Closers,
): Promise<SharedParts> {
  const { db, log, metrics, publicUrl } = opened;
  const wakeUps = openWakeUps({ url: opened.directUrl, db, log });
  const storage = instrumentedStorage(await openStorage(config.storage, log));
  const { deliverySeconds } = config;
  const links = await openLinks({
    db,
    deliverySeconds,
    publicUrl,
    ...(config.presignsInputs && { presign: storage.presign }),
  });
  const upkeep = new AbortController();
  closers.push(async () => upkeep.abort());
  const { signal } = upkeep;
  const every = (seconds: number, name: string, work: () => Promise<unknown>) =>
    startInterval(seconds, { name, log, signal }, work);
  every(SECRETS_SECONDS, 'reading the delivery secrets', () => links.refresh());
  const scratch = openScratchDirectory(path.join(config.dataDir, 'scratch'));
  every(MAINTAIN_SECONDS, 'scratch directory upkeep', () => scratch.maintain());
  every(WATCH_SECONDS, 'watching the locks of the database', () => isReady({ db, log }));
  const space = openFreeSpace({
    folder: config.dataDir,
    reservedBytes: () => reservedOutputBytes(db),
    hasObjects: config.storage.kind === 'disk',
  });
  every(MEASURE_SECONDS, 'measuring the disk', space.refresh);
  const { dnsServers, clientHosts, webhookHosts, providerHosts } = config;
  const open = (hosts: HostRules) => {
    const guardedFetch = createGuardedFetch({ ...opened.guardedFetch, dnsServers, ...hosts });
    closers.push(() => guardedFetch.close());
    return guardedFetch;
  };
  const fetchFrom = (hosts: HostRules, use: SpaceUse) => fetchWhileFree(open(hosts), space, use);
  const fetches = {
    inputFetch: fetchFrom(clientHosts, 'input'),
    resultFetch: fetchFrom(providerHosts, 'output'),
    webhookPost: open(webhookHosts),
  };
  const billing = await openBilling(config, { db, log, publicUrl });
  if (billing) {
    every(ACCOUNT_SECONDS, 'asking for the account of Stripe', () => learnAccount(billing));
  }
  const mailer = openMailer({ settings: config.website.mail, log });
  closers.push(() => mailer.close());
  return {
    db,
    log,
    publicUrl,
    wakeUps,
    storage,
    space,
    links,
    scratch,
    metrics,
    ...fetches,
    closures: openClosures({ db, log }),
    waiting: createWaiting({ db, log }),
    mailer,
    billing,
  };
}

/** Aborts a download once the disk is too full for its purpose. */
function fetchWhileFree(guardedFetch: GuardedFetch, space: FreeSpace, use: SpaceUse): GuardedFetch {
  return {
    ...guardedFetch,
    async download(url, options) {
      return space.whileFree(use, await guardedFetch.download(url, options));
    },
  };
}

async function listenForMetrics(config: Config, metrics: Metrics, closers: Closers) {
  closers.push(() => metrics.app.close());
  if (config.metricsPort === undefined) return;
  const { host, metricsPort: port } = config;
  await listen(metrics.app, { host, port, variable: 'METRICS_PORT' });
}

async function openBilling(
  { stripe: settings }: Config,
  deps: Pick<Billing, 'db' | 'log' | 'publicUrl'>,
): Promise<Billing | undefined> {
  if (!settings) return undefined;
  const { webhookSecret, secretKey } = settings;
  const scope = scopeOfKey(secretKey);
  return { ...deps, webhookSecret, scope, stripe: await openStripe(settings) };
}

async function openProviders(
  config: Pick<Config, 'configuredProviders' | 'submitTimeoutSeconds'>,
  shared: SharedParts,
  closers: Closers,
): Promise<Map<string, HostedProvider>> {
  const { db, log, resultFetch, closures } = shared;
  const following = new AbortController();
  closers.push(async () => following.abort());
  const now = await followDatabaseClock({ db, log, signal: following.signal });
  await closures.follow(following.signal);
  const providers = await createProviders(config.configuredProviders, {
    ...shared,
    guardedFetch: resultFetch,
    now,
    submitTimeoutSeconds: config.submitTimeoutSeconds,
  });
  closers.push(async () => {
    await Promise.all([...providers.values()].map((provider) => provider.stop?.()));
  });
  await warnOfUnserved(providers, { db, log });
  return providers;
}
