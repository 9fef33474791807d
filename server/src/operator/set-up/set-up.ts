import type { StripeSettings } from '../../billing/stripe-client.ts';
import type { SigningCertificate } from '../../credentials/certificate.ts';
import type { Database } from '../../database/database.ts';
import type { ScratchDirectory } from '../../kernel/scratch-directory.ts';
import type { MailSettings } from '../../mail/mailer.ts';
import type { Resolve } from '../../outbound/host-lookup.ts';
import type { HostedProvider } from '../../providers/provider.ts';
import type { Links } from '../../storage/links.ts';
import type { Storage } from '../../storage/storage.ts';

/** What the checks of an installation's set-up use. */
export interface SetUp {
  db: Database;
  /** Milliseconds since 1970, by the database's clock. */
  now(): number;
  links: Pick<Links, 'linkToSetUp' | 'isProof'>;
  /** Without a trailing slash. */
  publicUrl: string;
  resolve: Resolve;
  /** Certificates (PEM) trusted instead of the system's. */
  ca?: string | undefined;
  /** Whether the operator accepts a database that forgets commits (DATABASE_VOLATILE). */
  isVolatile: boolean;
  /** How many connections this start may need, and the database allows. */
  countConnections(): Promise<{ needed: number; allowed: number }>;
  dataDir: string;
  /** Whether objects are stored in `dataDir` too. */
  hasObjects: boolean;
  scratch: ScratchDirectory;
  openStorage(): Promise<Storage>;
  mail: MailSettings | undefined;
  /** Who gets a test mail; undefined: none is sent. */
  mailTo: string | undefined;
  /** Operators' e-mail addresses. */
  adminEmails: ReadonlySet<string>;
  stripe: StripeSettings | undefined;
  /** The connection that PROVIDER names. */
  provider: string;
  openProviders(storage: Storage): Promise<Map<string, HostedProvider>>;
  /** `given`: the operator's own certificate. undefined: no video is signed. */
  signing: { given: SigningCertificate | undefined } | undefined;
}

/**
 * `to do`: something is wrong or missing. `not checked`: nothing is known to be wrong, but this
 * program can't tell by itself.
 */
export interface Line {
  check: string;
  state: 'ok' | 'to do' | 'not checked';
  found: string;
  /** What the operator should do; null: nothing. */
  todo: string | null;
}

/** What a check found: a text alone is `ok`. Without a `todo`, the check's own applies. */
export type Finding = string | { state: 'to do' | 'not checked'; found: string; todo?: string };

export const toDo = (found: string, todo?: string): Finding => {
  return { state: 'to do', found, ...(todo !== undefined && { todo }) };
};

export const notChecked = (found: string, todo: string): Finding => {
  return { state: 'not checked', found, todo };
};

export interface Check {
  name: string;
  /** What to do if the check throws, or its finding has no `todo`. */
  todo: string;
  run(setUp: SetUp): Promise<Finding>;
}
