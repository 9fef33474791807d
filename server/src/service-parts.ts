import path from 'node:path';
import { type Billing, learnAccount, openStripe, scopeOfKey } from './billing/stripe-client.ts';
import { type BrandDeps, DEFAULT_BRAND } from './brand/brand.ts';
import { followBrand } from './brand/stored-brand.ts';
import { useModelsFile } from './catalog/models-file.ts';
import { followCatalog } from './catalog/stored-models.ts';
import type { Config } from './config/config.ts';
import { CERTIFICATE_SECONDS, openCertificate } from './credentials/certificates.ts';
import { requireFit } from './credentials/require-fit.ts';
import { createSigner } from './credentials/signer.ts';
import { timeStamp } from './credentials/time-stamp.ts';
import { followDatabaseClock } from './database/clock.ts';
import type { Metrics } from './http/operations/metrics.ts';
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
import { createProviderBreaker } from './providers/circuit-breaker/breaker.ts';
import { createProviders } from './providers/registry.ts';
import { isReady, WATCH_SECONDS } from './readiness.ts';
import { createRouting } from './routing/routing.ts';
import { MEASURE_SECONDS, openFreeSpace, type SpaceUse } from './storage/free-space.ts';
import { openLinks, SECRETS_SECONDS } from './storage/links.ts';
import { instrumentedStorage, openStorage } from './storage/open-storage.ts';
import { reservedOutputBytes } from './tasks/create/new-task.ts';
import { createWaiting } from './tasks/waiting.ts';
import { openWakeUps } from './tasks/wake-ups.ts';
import { recentTimes } from './worker/job-times.ts';
import { checkUnserved } from './worker/live-workers.ts';

const MAINTAIN_SECONDS = 60;
/** How often Stripe is asked for its key's account, until it is known. */
const ACCOUNT_SECONDS = 60;

/** Called at the stop, in reverse order. */
export type Closers = Array<() => Promise<unknown>>;

/** Options that no variable sets: timeouts, DNS lookup, trusted CAs. */
export type GuardedFetchSettings = Omit<GuardedFetchOptions, 'allow'>;

export interface Opened extends OpenedDatabase {
  log: Log;
  guardedFetch: GuardedFetchSettings;
  processName: string | undefined;
  metrics: Metrics;
  /** The URL for clients and browsers, without a trailing slash. */
  publicUrl(): string;
}

export type ServiceParts = Awaited<ReturnType<typeof openParts>>;

export async function openParts(config: Config, opened: Opened, closers: Closers) {
  const shared = await openShared(config, opened, closers);
  const providers = await openProviders(config, shared, closers);
  return { ...shared, ...providers, credentials: await openCredentials(config, shared, closers) };
}

async function openShared(config: Config, opened: Opened, closers: Closers) {
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
  const openFetch = (hosts: HostRules) => {
    const guardedFetch = createGuardedFetch({ ...opened.guardedFetch, dnsServers, ...hosts });
    closers.push(() => guardedFetch.close());
    return guardedFetch;
  };
  // Aborts a download once the disk is too full for its use.
  const fetchFrom = (hosts: HostRules, use: SpaceUse): GuardedFetch => {
    const guardedFetch = openFetch(hosts);
    const download: GuardedFetch['download'] = async (url, options) =>
      space.whileFree(use, await guardedFetch.download(url, options));
    return { ...guardedFetch, download };
  };
  const fetches = {
    /** For clients' files. */
    inputFetch: fetchFrom(clientHosts, 'input'),
    /** For providers' results. */
    resultFetch: fetchFrom(providerHosts, 'output'),
    /** For customers' webhooks, and for the operator's moderation service. */
    webhookPost: openFetch(webhookHosts),
  };
  const now = await followDatabaseClock({ db, log, signal });
  const { modelsFile } = config;
  if (modelsFile) closers.push(await useModelsFile(modelsFile, { db, log }));
  const catalog = await followCatalog({ db, log, signal });
  const brand = await followBrand({ db, log, signal, fixed: config.brand });
  const billing = await openBilling(config, { db, log, publicUrl });
  if (billing) {
    every(ACCOUNT_SECONDS, 'asking for the account of Stripe', () => learnAccount(billing));
  }
  const mailer = openMailer({ settings: config.website.mail, log, sender: () => senderOf(brand) });
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
    breaker: createProviderBreaker({ db, log }),
    waiting: createWaiting({ db, log }),
    catalog,
    brand,
    now,
    mailer,
    /** undefined: nothing is on sale. */
    billing,
  };
}

/** MAIL_FROM keeps its own name until a brand is set. */
function senderOf({ current }: BrandDeps['brand']) {
  const { name, support_email: supportEmail } = current();
  return { name: name === DEFAULT_BRAND.name ? undefined : name, supportEmail };
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

/** @returns undefined where no video is signed */
async function openCredentials(
  { contentCredentials: settings, roles }: Config,
  { db, log, scratch, now, brand }: Awaited<ReturnType<typeof openShared>>,
  closers: Closers,
) {
  if (!roles.has('worker')) return undefined;
  if (!settings) {
    log.warn('CONTENT_CREDENTIALS is off: nothing in the videos says that they are generated');
    return undefined;
  }
  const certificate = await openCertificate({ db, given: settings.certificate, now });
  const { refresh, current } = certificate;
  const following = new AbortController();
  const options = { name: 'reading the certificate', log, signal: following.signal };
  startInterval(CERTIFICATE_SECONDS, options, refresh);
  const { timeStamps } = settings;
  const signer = createSigner({
    scratch,
    certificate: current,
    stamp: timeStamps ? (signed) => timeStamp(timeStamps, signed) : undefined,
  });
  closers.push(async () => {
    following.abort();
    await signer.close();
  });
  if (settings.certificate) {
    await requireFit(settings.certificate, scratch, now());
    // A signing service that is down delays videos, but must not prevent the start.
    settings.certificate.sign(Buffer.from('a start')).catch((err: unknown) => {
      log.error({ err }, 'Content Credentials can not be signed');
    });
  }
  return { ...settings, signer, generator: () => brand.current().name };
}

async function openProviders(
  config: Config,
  shared: Awaited<ReturnType<typeof openShared>>,
  closers: Closers,
) {
  const { db, log, resultFetch, breaker } = shared;
  const following = new AbortController();
  closers.push(async () => following.abort());
  await breaker.follow(following.signal);
  const providers = await createProviders(config.configuredProviders, {
    ...shared,
    guardedFetch: resultFetch,
    submitTimeoutSeconds: config.submitTimeoutSeconds,
  });
  closers.push(async () => {
    await Promise.all([...providers.values()].map((provider) => provider.stop?.()));
  });
  await checkUnserved(providers, { db, log });
  const routing = createRouting({
    db,
    log,
    providers,
    defaultConnection: config.provider,
    readTimes: () => recentTimes(db),
  });
  await routing.follow(following.signal);
  return { providers, routing };
}
