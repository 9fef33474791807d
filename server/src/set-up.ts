import path from 'node:path';
import { countConnections } from './cli/connection-budget.ts';
import type { Config } from './config/config.ts';
import { readClockMs } from './database/clock.ts';
import type { Database } from './database/database.ts';
import { createLog } from './kernel/log.ts';
import { openScratchDirectory } from './kernel/scratch-directory.ts';
import type { SetUp } from './operator/set-up/set-up.ts';
import { createGuardedFetch } from './outbound/guarded-fetch.ts';
import { createSystemLookup } from './outbound/host-lookup.ts';
import { createProviders } from './providers/registry.ts';
import { openLinks } from './storage/links.ts';
import { openStorage } from './storage/open-storage.ts';
import type { Storage } from './storage/storage.ts';

/** What the checks of the set-up need. Everything is opened anew, as at a start. */
export async function openSetUp(
  config: Config,
  db: Database,
  {
    publicUrl = config.publicUrl ?? '',
    mailTo,
  }: { publicUrl?: string; mailTo?: string | undefined },
): Promise<SetUp> {
  const log = createLog({ level: 'silent' });
  const { deliverySeconds, website, contentCredentials } = config;
  const aheadMs = (await readClockMs(db)) - Date.now();
  const now = () => Date.now() + aheadMs;
  const scratch = openScratchDirectory(path.join(config.dataDir, 'scratch'));
  return {
    db,
    now,
    publicUrl,
    links: await openLinks({ db, publicUrl: () => publicUrl, deliverySeconds }),
    resolve: createSystemLookup(),
    isVolatile: config.databaseVolatile,
    countConnections: () => countConnections(config, db),
    dataDir: config.dataDir,
    hasObjects: config.storage.kind === 'disk',
    scratch,
    openStorage: () => openStorage(config.storage, log),
    mail: website.mail,
    mailTo,
    adminEmails: website.adminEmails,
    stripe: config.stripe,
    provider: config.provider,
    openProviders: (storage: Storage) =>
      createProviders(config.configuredProviders, {
        db,
        storage,
        scratch,
        log,
        now,
        guardedFetch: createGuardedFetch({
          dnsServers: config.dnsServers,
          ...config.providerHosts,
        }),
        submitTimeoutSeconds: config.submitTimeoutSeconds,
        breaker: { observe: async () => {} }, // a check must not close a connection
      }),
    signing: contentCredentials && { given: contentCredentials.certificate },
  };
}
