import { type Queryable, statement } from '../database/database.ts';
import type { OwnScope, StripeMode, StripeScope } from './stripe-client.ts';

/** The scope stored with an id, as columns. */
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

/** {@link isInScope} in SQL. A null mode matches any. */
export function inScope(table: string, mode: string, account: string): string {
  return `coalesce(${table}.stripe_mode = ${mode}, true)
     and coalesce(${table}.stripe_account = ${account}, true)`;
}

/** SQL: sorts rows by how well their scope is known, best first. */
export function bestKnown(table: string): string {
  return `${table}.stripe_account is null`;
}

const REMEMBER = { orders: remembering('orders'), subscriptions: remembering('subscriptions') };

function remembering(table: string) {
  return statement(
    `${table}_remember_account`,
    `update ${table} set stripe_account = $2 where id = $1 and stripe_account is null`,
  );
}

/** Stores the Stripe account that an order or subscription turned out to belong to. */
export async function rememberAccount(
  db: Queryable,
  table: keyof typeof REMEMBER,
  kept: ScopeColumns & { id: string },
  { account }: OwnScope,
): Promise<void> {
  if (kept.stripe_account === null && account !== null)
    await db.query(REMEMBER[table], [kept.id, account]);
}
