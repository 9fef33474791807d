import { randomUUID } from 'node:crypto';
import type Stripe from 'stripe';
import type { Database } from '../database/database.ts';
import type { Log } from '../kernel/log.ts';

export interface StripeSettings {
  secretKey: string;
  webhookSecret: string;
  /** undefined: Stripe itself. */
  baseUrl: string | undefined;
}

export type StripeClient = Stripe;

/** Test mode moves no money, and its objects don't exist in live mode. */
export type StripeMode = 'test' | 'live';

/** Where a Stripe id is valid: in one mode of one account (null: unknown, so possibly any). */
export interface StripeScope {
  mode: StripeMode;
  account: string | null;
}

/** The scope of this process: its key has one mode. */
export interface OwnScope extends StripeScope {
  isAccountHidden: boolean;
}

export interface ScopeColumns {
  stripe_mode: StripeMode;
  /** null: unknown, because the key may not read it. */
  stripe_account: string | null;
}

/** Whether an id may exist in a scope. If an account is unknown, only Stripe can tell. */
export function isInScope({ stripe_mode, stripe_account }: ScopeColumns, scope: StripeScope) {
  const { mode, account } = scope;
  if (stripe_mode !== mode) return false;
  return stripe_account === null || account === null || stripe_account === account;
}

/** {@link isInScope} in SQL. A null mode matches any mode. */
export function inScope(table: string, mode: string, account: string): string {
  return `coalesce(${table}.stripe_mode = ${mode}, true)
     and coalesce(${table}.stripe_account = ${account}, true)`;
}

/** SQL for `order by`: rows whose Stripe account is known come first. */
export function knownAccountFirst(table: string): string {
  return `${table}.stripe_account is null`;
}

export interface BillingDeps {
  db: Database;
  log: Log;
  stripe: StripeClient;
  scope: OwnScope;
  /** The URL that browsers reach, without a trailing slash. */
  publicUrl: () => string;
}

export interface Billing extends BillingDeps {
  webhookSecret: string;
}

const TIMEOUT_MS = 10_000;
const RETRIES = 2;

/** Loads the package lazily: it takes 40 MB, and most installations sell nothing. */
export async function openStripe(
  { secretKey, baseUrl }: StripeSettings,
  retries = RETRIES,
): Promise<StripeClient> {
  const { default: StripeApi } = await import('stripe');
  const shared = { timeout: TIMEOUT_MS, maxNetworkRetries: retries, telemetry: false } as const;
  if (baseUrl === undefined) return new StripeApi(secretKey, shared);
  const { protocol, hostname, port } = new URL(baseUrl);
  return new StripeApi(secretKey, {
    ...shared,
    protocol: protocol === 'http:' ? 'http' : 'https',
    host: hostname,
    port: port || (protocol === 'http:' ? 80 : 443),
  });
}

/** The scope of a Stripe key such as `sk_test_...` or `rk_live_...`. */
export function scopeOfKey(secretKey: string): OwnScope {
  const mode = /^[a-z]+_live_/.test(secretKey) ? 'live' : 'test';
  return { mode, account: null, isAccountHidden: false };
}

/**
 * Asks Stripe once for the key's account. If a restricted key may not read it, ids are stored with
 * their mode only, and calls show whether Stripe has them.
 */
export async function learnAccount({
  stripe,
  scope,
  log,
}: Pick<BillingDeps, 'stripe' | 'scope' | 'log'>): Promise<void> {
  if (scope.account !== null || scope.isAccountHidden) return;
  try {
    scope.account = (await stripe.accounts.retrieveCurrent()).id;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    scope.isAccountHidden = true;
    log.info('the Stripe key may not read its account: ids are stored with their mode only');
  }
}

function isOfKind(error: unknown, type: `Stripe${string}`): boolean {
  return error instanceof Error && Object(error).type === type;
}

/** Whether a restricted key lacks the permission. */
export function isForbidden(error: unknown): boolean {
  return isOfKind(error, 'StripePermissionError');
}

/** Whether Stripe refused the call for good: the same call will be refused again. */
export function isRefused(error: unknown): boolean {
  return isOfKind(error, 'StripeInvalidRequestError');
}

/** Whether Stripe has no object with the given id: it is gone, or of another mode or account. */
export function isMissing(error: unknown): boolean {
  return isRefused(error) && Object(error).code === 'resource_missing';
}

/** The response to a call; undefined if Stripe has no such object. */
export function ifThere<Said>(call: Promise<Said>): Promise<Said | undefined> {
  return call.catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
}

/**
 * Creates an object whose duplicate does no harm. Stripe saves a 500 under its Idempotency-Key and
 * replays it for 24 hours (docs.stripe.com/api/idempotent_requests): the retry uses a new key.
 */
export async function createOrRetryWithNewKey<Made>(
  idempotencyKey: string,
  make: (options: { idempotencyKey: string }) => Promise<Made>,
): Promise<Made> {
  try {
    return await make({ idempotencyKey });
  } catch (error) {
    if (!isKeySpent(error)) throw error;
    return make({ idempotencyKey: `${idempotencyKey}:${randomUUID()}` });
  }
}

/** A saved 500, or a key that was used before with other parameters, such as another URL. */
function isKeySpent(error: unknown): boolean {
  if (isOfKind(error, 'StripeIdempotencyError')) return true;
  return isOfKind(error, 'StripeAPIError') && Number(Object(error).statusCode) >= 500;
}

/** The id of an object that Stripe may have expanded. */
export function idOf(reference: string | { id: string } | null | undefined): string | null {
  return typeof reference === 'string' ? reference : (reference?.id ?? null);
}

/** The object, where Stripe was asked to expand it. */
export function expanded<Expanded extends object>(
  reference: string | Expanded | null | undefined,
): Expanded | null {
  return typeof reference === 'object' ? reference : null;
}

/** A Stripe timestamp, in seconds. */
export function timeOf(seconds: number | null | undefined): Date | null {
  return typeof seconds === 'number' ? new Date(seconds * 1000) : null;
}
