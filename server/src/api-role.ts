import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { followKeyUsage } from './accounts/key-usage.ts';
import type { Config } from './config/config.ts';
import { createApp } from './http/app.ts';
import { listen } from './http/listen.ts';
import { createMeasurer } from './media/measure.ts';
import { openOverview } from './operator/overview.ts';
import { isReady } from './readiness.ts';
import { openUploads } from './requests/receive-upload.ts';
import type { Closers, ServiceParts } from './service-parts.ts';
import { openSetUp } from './set-up.ts';
import { openShares } from './shares/shares.ts';
import { createIssuers } from './sign-in/issuers/configured-issuers.ts';
import { builtPages } from './site/pages/built-pages.ts';
import { isPageRequest, type PageOrigins, pageRoutes } from './site/pages/pages.ts';
import { site } from './site/site.ts';
import { diskCheck } from './storage/free-space.ts';
import { linkOrigin } from './storage/open-storage.ts';

export async function listenForClients(
  config: Config,
  parts: ServiceParts,
  closers: Closers,
): Promise<string> {
  const { db, log, scratch, metrics, waiting } = parts;
  const { adminEmails, signupCredits, reportDays, docsEditUrl, trustedProxies, shareBytes } =
    config.website;
  const measurer = createMeasurer({ scratch, concurrency: 1 });
  const keyUsage = followKeyUsage({ db, log });
  closers.push(() => keyUsage.stop());
  const shares =
    shareBytes === undefined ? undefined : openShares({ ...parts, dailyBytes: shareBytes });
  closers.push(async () => shares?.stop());
  closers.push(() => measurer.close());
  const draining = new AbortController();
  const folder = await builtPages(log);
  const served = {
    ...parts,
    clientHosts: config.clientHosts,
    webhookHosts: config.webhookHosts,
    providerName: config.provider,
    createWaitSeconds: config.createWaitSeconds,
    uploads: openUploads({ ...parts, measurer }),
    shares,
  };
  const app = await createApp({
    trustedProxies,
    site: async (scope) => {
      await site(scope, {
        ...served,
        adminEmails,
        signupCredits,
        reportDays,
        issuers: createIssuers(config.website.issuers),
        sendMail: parts.mailer.sendMail,
        isMailLogged: parts.mailer.isLogged,
        overview: openOverview(db),
        certificateEnd: config.contentCredentials?.certificate?.expiresAt,
        openSetUp: () => openSetUp(config, db, { publicUrl: parts.publicUrl() }),
      });
      if (folder) {
        const origins = pageOrigins(config);
        const { drawsPatterns } = parts.providers.get(config.provider)?.capabilities ?? {};
        const showsTestPatterns = drawsPatterns === true;
        const pages = { folder, origins, docsEditUrl, adminEmails, showsTestPatterns };
        await scope.register(pageRoutes, { ...parts, ...pages, shares });
      }
    },
    isPageRequest: folder ? isPageRequest : undefined,
    ...served,
    deliveryMode: config.deliveryMode,
    isReady: async () => !draining.signal.aborted && (await isReady({ db, log })),
    isDiskFull: diskCheck(config),
    isDraining: () => draining.signal.aborted,
    onResponse: metrics.countResponse,
    onCallback: metrics.countCallback,
    onAdmitted: keyUsage.note,
  });
  const listening = await listen(app, { host: config.host, port: config.port, variable: 'PORT' });
  closers.push(async () => {
    draining.abort();
    waiting.stop(); // ends all waits: their tasks are announced, and the clients get 202
    await delay(config.drainSeconds * 1000);
    await closeWithin(config.shutdownSeconds, app);
  });
  log.info({ url: listening }, 'the API is listening');
  return listening;
}

function pageOrigins({ publicUrl, storage, deliveryMode }: Config): PageOrigins {
  const storageOrigin = deliveryMode === 'redirect' ? linkOrigin(storage) : undefined;
  const media = [publicUrl && new URL(publicUrl).origin, storageOrigin];
  return {
    media: media.filter((origin) => origin !== undefined),
    isSecure: publicUrl?.startsWith('https:') ?? false,
  };
}

/** Closes once the requests in flight are answered; after the given time, cuts them off. */
async function closeWithin(seconds: number, app: FastifyInstance): Promise<void> {
  app.server.keepAliveTimeout = 1; // milliseconds after a connection's last response
  const timer = setTimeout(() => app.server.closeAllConnections(), seconds * 1000);
  await app.close().finally(() => clearTimeout(timer));
}
