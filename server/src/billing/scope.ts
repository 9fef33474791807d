import { type Queryable, statement } from '../database/database.ts';
import {
  type BillingDeps,
  isMissing,
  type OwnScope,
  type StripeMode,
  type StripeScope,
} from './stripe-client.ts';

/** The scope that is kept with an id, as columns. */
export interface ScopeColumns {
  stripe_mode: StripeMode | null;
  stripe_account: string | null;
}

/** Ids of every mode and account. */
export const ANY_SCOPE: StripeScope = { mode: null, account: null };

/** Whether an id may hold in a scope. What is not known is found out by asking Stripe. */
export function isInScope(
  { stripe_mode: mode, stripe_account: account }: ScopeColumns,
  scope: StripeScope,
): boolean {
  return fits(mode, scope.mode) && fits(account, scope.account);
}

function fits(one: string | null, other: string | null): boolean {
  return one === null || other === null || one === other;
}

/** {@link isInScope} in SQL. */
export function inScope(table: string, mode: string, account: string): string {
  return `coalesce(${table}.stripe_mode = ${mode}, true)
     and coalesce(${table}.stripe_account = ${account}, true)`;
}

/** The order of rows by how well their scope is known, the best first. */
export function bestKnown(table: string): string {
  return `${table}.stripe_mode is null, ${table}.stripe_account is null`;
}

const ADOPT = {
  orders: adoptIn('orders'),
  subscriptions: adoptIn('subscriptions'),
};

function adoptIn(table: string) {
  return statement(
    `${table}_adopt`,
    `update ${table} set stripe_mode = coalesce(stripe_mode, $2),
       stripe_account = coalesce(stripe_account, $3)
     where id = $1 and coalesce(stripe_mode = $2, true)`,
  );
}

const DISOWN = { orders: disownIn('orders'), subscriptions: disownIn('subscriptions') };

function disownIn(table: string) {
  return statement(
    `${table}_disown`,
    `update ${table} set stripe_mode = $2, revision = revision + 1
     where id = $1 and stripe_mode is null`,
  );
}

/** An order or a subscription. */
interface Kept extends ScopeColumns {
  id: string;
  table: keyof typeof ADOPT;
}

/** Keeps with what Stripe has said something of that it is of this scope. */
export async function adopt(db: Queryable, kept: Kept, { mode, account }: OwnScope): Promise<void> {
  if (kept.stripe_mode !== null && (kept.stripe_account !== null || account === null)) return;
  await db.query(ADOPT[kept.table], [kept.id, mode, account]);
}

/**
 * Asks Stripe about something of this scope. What was made before modes were kept, and is not
 * there, counts as one of the other mode from now on.
 * @returns undefined if it is not of this scope
 * @throws Stripe's error
 */
export async function askInScope<Truth>(
  { db, scope }: Pick<BillingDeps, 'db' | 'scope'>,
  kept: Kept,
  ask: () => Promise<Truth>,
): Promise<Truth | undefined> {
  if (!isInScope(kept, scope)) return undefined;
  try {
    return await ask();
  } catch (error) {
    if (!isMissing(error) || kept.stripe_mode !== null) throw error;
    await db.query(DISOWN[kept.table], [kept.id, scope.mode === 'live' ? 'test' : 'live']);
    return undefined;
  }
}
