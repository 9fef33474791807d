import type { Billing } from './billing/stripe-client.ts';
import type { Database } from './database/database.ts';
import type { Metrics } from './http/operations/metrics.ts';
import type { Log } from './kernel/log.ts';
import type { ScratchDirectory } from './kernel/scratch-directory.ts';
import type { Mailer } from './mail/mailer.ts';
import type { GuardedFetch, GuardedPost } from './outbound/guarded-fetch.ts';
import type { Closures } from './providers/circuit-breaker/closures.ts';
import type { HostedProvider } from './providers/provider.ts';
import type { FreeSpace } from './storage/free-space.ts';
import type { Links } from './storage/links.ts';
import type { Storage } from './storage/storage.ts';
import type { Waiting } from './tasks/waiting.ts';
import type { WakeUps } from './tasks/wake-ups.ts';

/** Called at the stop, in reverse order. */
export type Closers = Array<() => Promise<unknown>>;

/** The parts of the service that both roles use. */
export interface ServiceParts {
  db: Database;
  wakeUps: WakeUps;
  storage: Storage;
  space: FreeSpace;
  links: Links;
  log: Log;
  scratch: ScratchDirectory;
  /** For clients' files. */
  inputFetch: GuardedFetch;
  /** For providers' results. */
  resultFetch: GuardedFetch;
  /** For customers' webhooks. */
  webhookPost: GuardedPost;
  metrics: Metrics;
  closures: Closures;
  waiting: Waiting;
  mailer: Mailer;
  /** undefined: nothing is on sale. */
  billing: Billing | undefined;
  /** The URL for clients and browsers, without a trailing slash. */
  publicUrl(): string;
  providers: Map<string, HostedProvider>;
}
