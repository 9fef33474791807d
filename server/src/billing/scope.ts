import { type Queryable, statement } from '../database/database.ts';
import type { OwnScope, StripeMode, StripeScope } from './stripe-client.ts';

/** The scope that is kept with an id, as columns. */
export interface ScopeColumns {
  stripe_mode: StripeMode;
  /** null: not known, since the key may not read it. */
  stripe_account: string | null;
}

/** Whether an id may hold in a scope. Where an account is not known, only Stripe can tell. */
export function isInScope({ stripe_mode, stripe_account }: ScopeColumns, scope: StripeScope) {
  const { mode, account } = scope;
  if (stripe_mode !== mode) return false;
  return stripe_account === null || account === null || stripe_account === account;
}

/** {@link isInScope} in SQL. A mode of null is any. */
export function inScope(table: string, mode: string, account: string): string {
  return `coalesce(${table}.stripe_mode = ${mode}, true)
     and coalesce(${table}.stripe_account = ${account}, true)`;
}

/** The order of rows by how well their scope is known, the best first. */
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

/** Keeps the account at Stripe that an order or subscription turned out to be of. */
export async function rememberAccount(
  db: Queryable,
  table: keyof typeof REMEMBER,
  kept: ScopeColumns & { id: string },
  { account }: OwnScope,
): Promise<void> {
  if (kept.stripe_account === null && account !== null)
    await db.query(REMEMBER[table], [kept.id, account]);
}
