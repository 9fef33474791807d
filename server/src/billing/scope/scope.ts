/** In test mode no money moves, and nothing of it exists in live mode. */
type StripeMode = 'test' | 'live';

/** Where an id of Stripe holds: in one mode of one account. null: not known, so it may be any. */
export interface StripeScope {
  mode: StripeMode | null;
  account: string | null;
}

/** The scope of this process: its key has one mode. */
export interface OwnScope extends StripeScope {
  mode: StripeMode;
  /** Whether the key may not read its account. */
  isAccountHidden: boolean;
}

/** The scope that is kept with an id, as columns. */
export interface ScopeColumns {
  stripe_mode: StripeMode | null;
  stripe_account: string | null;
}

/** Ids of every mode and account. */
export const ANY_SCOPE: StripeScope = { mode: null, account: null };

/** The scope of a secret or restricted key, such as `sk_test_...` or `rk_live_...`. */
export function scopeOfKey(secretKey: string): OwnScope {
  const mode = /^[a-z]+_live_/.test(secretKey) ? 'live' : 'test';
  return { mode, account: null, isAccountHidden: false };
}

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
