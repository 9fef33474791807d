import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { forgetFutureRequests } from './accounts/admission.ts';
import { followKeyUsage } from './accounts/key-usage.ts';
import { startBillingJobs } from './billing/jobs.ts';
import { type Billing, openStripe } from './billing/stripe-client.ts';
import type { Config } from './config/config.ts';
import { followDatabaseClock } from './database/clock.ts';
import type { Database } from './database/database.ts';
import { requireDurableCommits, requireSessionSettings } from './database/durability.ts';
import { isReady } from './database/readiness.ts';
import { rememberMark } from './database/remembered-mark.ts';
import { createApp } from './http/app.ts';
import { listen } from './http/listen.ts';
import { healthRoutes } from './http/operations/health.ts';
import { createMetrics, type Metrics } from './http/operations/metrics.ts';
import { followFigures } from './http/operations/recent-minutes.ts';
import { startInterval } from './kernel/interval.ts';
import type { Log } from './kernel/log.ts';
import { openScratchDirectory, type ScratchDirectory } from './kernel/scratch-directory.ts';
import { bringDueUpToDate } from './ledger/upkeep.ts';
import { type Mailer, openMailer } from './mail/mailer.ts';
import { instrumentedMeasurer } from './media/instrumented-measurer.ts';
import { createMeasurer } from './media/measure.ts';
import { createPosterMaker } from './media/poster/poster.ts';
import type { OpenedDatabase } from './open-database.ts';
import { eraseClosedAccounts } from './operator/erasure/erase-closed.ts';
import { warnOfUnserved } from './operator/unserved.ts';
import type { HostRules } from './outbound/addresses.ts';
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
} from './outbound/guarded-fetch.ts';
import { type Closures, openClosures } from './providers/host/closures.ts';
import { createProviders } from './providers/host/configured-provider.ts';
import type { Provider } from './providers/provider.ts';
import { createIdentityProviders } from './sign-in/providers/configured-providers.ts';
import { deleteExpired } from './sign-in/upkeep.ts';
import { builtPages } from './site/pages/built-pages.ts';
import type { PageOrigins } from './site/pages/headers.ts';
import { isPageRequest, pageRoutes } from './site/pages/pages.ts';
import { site } from './site/site.ts';
import { SECRETS_SECONDS } from './storage/delivery-secrets.ts';
import { instrumentedStorage } from './storage/instrumented-storage.ts';
import { type Links, openLinks } from './storage/links.ts';
import { deleteMarked, markExpired } from './storage/objects.ts';
import { linkOrigin, openStorage } from './storage/open-storage.ts';
import type { Storage } from './storage/storage.ts';
import { askForCancels } from './tasks/attempts/cancel-requests.ts';
import { createFirstSeen } from './tasks/attempts/first-seen.ts';
import { checkOrphans } from './tasks/attempts/orphan-check.ts';
import { repairClockJump } from './tasks/clock-jump.ts';
import { createWaiting } from './tasks/create/waiting.ts';
import { drawPosters } from './tasks/gallery/draw-posters.ts';
import { instrumentedSteps } from './tasks/steps/instrumented-steps.ts';
import { createSteps, providerFor } from './tasks/steps/steps.ts';
import { createWorker, type Worker } from './tasks/worker.ts';
import { openWakeUps, type WakeUps } from './wake-ups/wake-ups.ts';

/** Milliseconds of a clock that never goes back. */
const monotonic = () => performance.now();

const CLOCK_SECONDS = 5;
const DELETE_SECONDS = 2;
const POSTER_SECONDS = 2;
const EXPIRE_SECONDS = 5;
const MAINTAIN_SECONDS = 60;
const CANCEL_SECONDS = 1;
const FORGET_SECONDS = 600;
const ERASE_SECONDS = 60;

export interface Service {
  /** The address that the API listens on; undefined without the api role. */
  url: string | undefined;
  /** Drains the service and closes its parts, in the reverse order of the start. */
  stop(): Promise<void>;
}

/** Settings of the guarded fetch that are not configuration: timeouts, DNS lookup, trusted CAs. */
export type GuardedFetchSettings = Omit<GuardedFetchOptions, 'allow'>;

/**
 * Creates all parts of the service, connects them and starts the configured roles.
 * @param processName the name of this process, where one start has several
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

type Closers = Array<() => Promise<unknown>>;

/** Creates all parts first, then listens, and starts the worker last. */
async function startRoles(
  config: Config,
  opened: OpenedDatabase & {
    log: Log;
    guardedFetch: GuardedFetchSettings;
    processName: string | undefined;
  },
  closers: Closers,
): Promise<string | undefined> {
  const { db, log } = opened;
  const works = config.roles.has('worker');
  if (works && !config.databaseVolatile) await requireDurableCommits(db);
  if (config.databaseDirectUrl !== undefined) {
    await requireSessionSettings(db, config.databaseVolatile);
  }
  const metrics = createMetrics(db, opened.processName);
  let isStarted = false;
  healthRoutes(metrics.app, { isReady: async () => isStarted && (await isReady(db)) });
  await listenForMetrics(config, metrics, closers);
  const wakeUps = openWakeUps({ url: opened.directUrl, db, log });
  const storage = instrumentedStorage(await openStorage(config.storage, log));
  let publicUrl = config.publicUrl ?? '';
  const { deliverySeconds } = config;
  const links = await openLinks({
    ...{ db, deliverySeconds, publicUrl: () => publicUrl },
    ...(config.presignsInputs && { presign: storage.presign }),
  });
  const following = new AbortController();
  closers.push(async () => following.abort());
  const reading = { name: 'reading the delivery secrets', log, signal: following.signal };
  startInterval(SECRETS_SECONDS, reading, () => links.refresh());
  const scratch = openScratchDirectory(path.join(config.dataDir, 'scratch'));
  const { dnsServers, clientHosts, providerHosts } = config;
  const fetchFrom = (hosts: HostRules) => {
    const guardedFetch = createGuardedFetch({ ...opened.guardedFetch, dnsServers, ...hosts });
    closers.push(() => guardedFetch.close());
    return guardedFetch;
  };
  const inputFetch = fetchFrom(clientHosts);
  const resultFetch = fetchFrom(providerHosts);
  const closures = openClosures({ db, log });
  const fetches = { inputFetch, resultFetch };
  const billing = await openBilling(config, { db, log, publicUrl: () => publicUrl });
  const mailer = openMailer({ settings: config.website.mail, log });
  closers.push(() => mailer.close());
  const parts = { wakeUps, storage, links, scratch, metrics, closures, mailer, billing };
  const shared = { db, log, publicUrl: () => publicUrl, ...parts, ...fetches };
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

async function listenForClients(
  config: Config,
  shared: SharedDeps & { providers: Map<string, Provider> },
  closers: Closers,
): Promise<string> {
  const { db, wakeUps, storage, links, log, scratch, metrics, providers } = shared;
  const waiting = createWaiting({ db, log });
  const keyUsage = followKeyUsage({ db, log });
  closers.push(() => keyUsage.stop());
  const watching = new AbortController();
  closers.push(async () => watching.abort());
  if (config.website.adminEmails.size > 0) {
    followFigures(metrics.recent, { db, log, signal: watching.signal });
  }
  const draining = new AbortController();
  const trustedProxies = config.website.trustedProxies;
  const folder = await builtPages(log);
  const served = {
    ...{ db, wakeUps, storage, links, log, clientHosts: config.clientHosts },
    ...{ providerName: config.provider, createWaitSeconds: config.createWaitSeconds },
  };
  const measurer = instrumentedMeasurer(createMeasurer({ scratch, concurrency: 1 }));
  const upkeep = { name: 'scratch directory upkeep', log, signal: draining.signal };
  startInterval(MAINTAIN_SECONDS, upkeep, () => scratch.maintain());
  const app = await createApp({
    trustedProxies,
    site: async (scope) => {
      const playground = { ...served, scratch, measurer };
      await site(scope, { ...siteDeps(config, shared), ...playground });
      if (folder) await scope.register(pageRoutes, { folder, origins: pageOrigins(config) });
    },
    isPageRequest: folder ? isPageRequest : undefined,
    ...{ ...served, providers, waiting },
    deliveryMode: config.deliveryMode,
    isReady: async () => !draining.signal.aborted && (await isReady(db)),
    isDraining: () => draining.signal.aborted,
    onResponse: metrics.countResponse,
    onCallback: metrics.countCallback,
    onAdmitted: keyUsage.note,
  });
  const listening = await listen(app, { host: config.host, port: config.port, variable: 'PORT' });
  closers.push(async () => {
    draining.abort();
    waiting.stop(); // ends all waits: the tasks are announced, and the clients get 202
    await delay(config.drainSeconds * 1000);
    await closeWithin(config.shutdownSeconds, app);
  });
  log.info({ url: listening }, 'the API is listening');
  return listening;
}

/** What the website needs beside what the public API needs. */
function siteDeps(
  { website }: Config,
  { db, log, publicUrl, mailer, billing, metrics }: SharedDeps,
) {
  const { adminEmails, signupCredits } = website;
  const identityProviders = createIdentityProviders(website.identityProviders);
  const { sendMail, isLogged: isMailLogged } = mailer;
  return {
    ...{ db, log, publicUrl, adminEmails, signupCredits, identityProviders },
    ...{ sendMail, isMailLogged, billing, recent: metrics.recent },
  };
}

/** Where the pages load videos from, apart from their own origin. */
function pageOrigins({ publicUrl, storage, deliveryMode }: Config): PageOrigins {
  const ofStorage = deliveryMode === 'redirect' ? linkOrigin(storage) : undefined;
  const media = [publicUrl && new URL(publicUrl).origin, ofStorage];
  return {
    media: media.filter((origin) => origin !== undefined),
    isSecure: publicUrl?.startsWith('https:') ?? false,
  };
}

async function listenForMetrics(config: Config, metrics: Metrics, closers: Closers) {
  closers.push(() => metrics.app.close());
  if (config.metricsPort === undefined) return;
  const { host, metricsPort: port } = config;
  await listen(metrics.app, { host, port, variable: 'METRICS_PORT' });
}

/**
 * Responds to the requests in flight, then closes. Idle connections do not delay it, and after the
 * given time it closes all connections.
 */
async function closeWithin(seconds: number, app: FastifyInstance): Promise<void> {
  app.server.keepAliveTimeout = 1; // milliseconds, after the last response of a connection
  const timer = setTimeout(() => app.server.closeAllConnections(), seconds * 1000);
  await app.close().finally(() => clearTimeout(timer));
}

/** Dependencies that several parts of the service share. */
interface SharedDeps {
  db: Database;
  wakeUps: WakeUps;
  storage: Storage;
  links: Links;
  log: Log;
  scratch: ScratchDirectory;
  /** For the files of clients. */
  inputFetch: GuardedFetch;
  /** For the results of providers. */
  resultFetch: GuardedFetch;
  metrics: Metrics;
  closures: Closures;
  mailer: Mailer;
  /** undefined: nothing is sold. */
  billing: Billing | undefined;
  /** The address that clients and browsers reach, without a slash at its end. */
  publicUrl(): string;
}

async function openBilling(
  { stripe: settings }: Config,
  deps: Pick<Billing, 'db' | 'log' | 'publicUrl'>,
): Promise<Billing | undefined> {
  if (!settings) return undefined;
  const { webhookSecret } = settings;
  return { ...deps, webhookSecret, stripe: await openStripe(settings) };
}

async function openProviders(
  config: Pick<Config, 'configuredProviders' | 'submitTimeoutSeconds'>,
  shared: SharedDeps,
  closers: Closers,
): Promise<Map<string, Provider>> {
  const { db, storage, scratch, log, resultFetch, metrics, closures } = shared;
  const following = new AbortController();
  closers.push(async () => following.abort());
  const now = await followDatabaseClock({ db, log, signal: following.signal });
  await closures.follow(following.signal);
  const providers = await createProviders(config.configuredProviders, {
    ...{ db, storage, scratch, log, guardedFetch: resultFetch, now, closures },
    submitTimeoutSeconds: config.submitTimeoutSeconds,
    observer: { called: metrics.countProviderCall },
  });
  closers.push(async () => {
    await Promise.all([...providers.values()].map((provider) => provider.stop?.()));
  });
  await warnOfUnserved(providers, { db, log });
  return providers;
}

/** @returns a worker; its start also starts the providers and the periodic jobs of the worker */
function buildWorker(
  config: Config,
  shared: SharedDeps & { providers: Map<string, Provider> },
  closers: Closers,
): Pick<Worker, 'start' | 'stopClaiming'> {
  const { db, storage, log, scratch, providers } = shared;
  const { submitTimeoutSeconds, submitRetrySeconds, reconcileSeconds } = config;
  const { pollMinSeconds, pollMaxSeconds, retentionDays, dataDir, trustsPromotion } = config;
  const steps = createSteps({
    ...{ db, storage, log, scratch, links: shared.links, guardedFetch: shared.inputFetch },
    ...{ submitTimeoutSeconds, submitRetrySeconds, reconcileSeconds },
    ...{ pollMinSeconds, pollMaxSeconds, retentionDays },
    measurer: instrumentedMeasurer(createMeasurer({ scratch })),
    outputMeasurer: instrumentedMeasurer(createMeasurer({ scratch, concurrency: 2 })),
    providerOf: (task) => providerFor(providers, task),
    closures: shared.closures,
    monotonic,
    wallClock: () => Date.now(),
    firstSeen: createFirstSeen(monotonic),
    pause: (seconds) => delay(seconds * 1000),
  });
  const worker = createWorker({
    ...{ db, wakeUps: shared.wakeUps, log, providers },
    steps: instrumentedSteps(steps),
  });
  closers.push(() => worker.stop(config.shutdownSeconds));
  const upkeep = new AbortController();
  const { signal } = upkeep;
  closers.push(async () => upkeep.abort());
  return {
    stopClaiming: () => worker.stopClaiming(),
    async start() {
      await scratch.maintain();
      const compareMark = rememberMark({ db, log, dataDir, trustsPromotion });
      await compareMark();
      startInterval(CLOCK_SECONDS, { name: 'database mark', log, signal }, compareMark);
      for (const provider of providers.values()) provider.start?.();
      await worker.start();
      startInterval(CLOCK_SECONDS, { name: 'database clock', log, signal }, () =>
        repairClockJump({ db, log, forgetFuture: forgetFutureRequests }),
      );
      startInterval(EXPIRE_SECONDS, { name: 'expiry', log, signal }, async () => {
        for (let marked = 1; marked > 0 && !signal.aborted; ) marked = await markExpired(db);
      });
      startInterval(DELETE_SECONDS, { name: 'deleting', log, signal }, () =>
        deleteMarked({ db, storage }),
      );
      if (config.drawsPosters) {
        const posterMaker = createPosterMaker({ scratch });
        startInterval(POSTER_SECONDS, { name: 'posters', log, signal }, () =>
          drawPosters({ db, storage, scratch, posterMaker, log, signal }),
        );
      }
      startInterval(EXPIRE_SECONDS, { name: 'expiring credits', log, signal }, () =>
        bringDueUpToDate({ db, log }),
      );
      startInterval(MAINTAIN_SECONDS, { name: 'scratch directory upkeep', log, signal }, () =>
        scratch.maintain(),
      );
      startInterval(FORGET_SECONDS, { name: 'forgetting', log, signal }, () => deleteExpired(db));
      startInterval(ERASE_SECONDS, { name: 'erasing', log, signal }, () =>
        eraseClosedAccounts({ db, log }),
      );
      startInterval(CANCEL_SECONDS, { name: 'cancels', log, signal }, () =>
        askForCancels({ db, log, providers }),
      );
      startInterval(reconcileSeconds, { name: 'orphan check', log, signal }, () =>
        checkOrphans({ db, log, providers }),
      );
      const { billing, publicUrl, mailer } = shared;
      startBillingJobs({ db, log, signal, billing, publicUrl, sendMail: mailer.sendMail });
    },
  };
}
