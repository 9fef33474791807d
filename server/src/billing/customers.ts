import { emailOf } from '../accounts/accounts.ts';
import {
  first,
  namedStatement,
  type Queryable,
  queryValue,
  whether,
} from '../database/database.ts';
import {
  type BillingDeps,
  createOrRetryWithNewKey,
  idOf,
  ifThere,
  inScope,
  isRefused,
  knownAccountFirst,
  type StripeClient,
  type StripeMode,
  type StripeScope,
} from './stripe-client.ts';

type CustomerDeps = Pick<BillingDeps, 'db' | 'stripe' | 'scope'>;

/**
 * Runs `work` with the account's Stripe customer, created if missing. If Stripe refuses because the
 * customer is gone, retries with a new one.
 */
export async function withCustomer<Result>(
  deps: CustomerDeps,
  accountId: string,
  work: (customer: string) => Promise<Result>,
): Promise<Result> {
  const customer = await customerOf(deps, accountId);
  try {
    return await work(customer);
  } catch (error) {
    if (!isRefused(error) || !(await isGone(deps.stripe, customer))) throw error;
    return work(await makeCustomer(deps, accountId, customer));
  }
}

export async function customerOf(deps: CustomerDeps, accountId: string): Promise<string> {
  const known = await knownCustomer(deps.db, accountId, deps.scope);
  return known ?? makeCustomer(deps, accountId, null);
}

/** @param gone the customer that the new one replaces */
async function makeCustomer(
  { db, stripe, scope }: CustomerDeps,
  accountId: string,
  gone: string | null,
): Promise<string> {
  const email = await emailOf(db, accountId);
  if (email === undefined) throw new Error(`there is no account ${accountId}`);
  // Stripe may still replay the deleted customer's response under the first key.
  const key = `customer:${accountId}${gone === null ? '' : `:${gone}`}`;
  const params = { email, metadata: { account: accountId } };
  const made = await createOrRetryWithNewKey(key, (options) =>
    stripe.customers.create(params, options),
  );
  return saveCustomer(db, accountId, { customer: made.id, gone, scope });
}

/** Whether a customer is unusable. Stripe still returns deleted customers. */
async function isGone(stripe: StripeClient, customer: string): Promise<boolean> {
  const found = await ifThere(stripe.customers.retrieve(customer));
  return found === undefined || found.deleted === true;
}

const replace = whether<[accountId: string, customer: string, gone: string]>(
  'customer_replace',
  `update stripe_customers set stripe_customer = $2
   where account_id = $1 and stripe_customer = $3 returning stripe_customer`,
);

const SAVE = namedStatement(
  'customer_save',
  `insert into stripe_customers (account_id, stripe_mode, stripe_account, stripe_customer)
   values (:accountId, :mode, :account, :customer)
   on conflict (account_id, stripe_mode, coalesce(stripe_account, ''))
     do update set stripe_customer = stripe_customers.stripe_customer
   returning stripe_customer`,
);

/** @returns the account's customer: this one, or the one that was saved before */
export async function saveCustomer(
  db: Queryable,
  accountId: string,
  { customer, gone = null, scope }: { customer: string; gone?: string | null; scope: StripeScope },
): Promise<string> {
  if (gone !== null && (await replace(db, accountId, customer, gone))) return customer;
  const { mode, account } = scope;
  const values = SAVE.values({ accountId, mode, account, customer });
  const saved = await first<{ stripe_customer: string }>(db, SAVE, values);
  return saved?.stripe_customer ?? customer;
}

/** The subquery for an account's customer. Its arguments are SQL expressions. */
export function customerSql(accountId: string, mode: string, account: string): string {
  return `(select c.stripe_customer from stripe_customers c
     where c.account_id = ${accountId} and ${inScope('c', mode, account)}
     order by ${knownAccountFirst('c')} limit 1)`;
}

const readCustomer = queryValue<
  [accountId: string, StripeMode, account: string | null],
  string | null
>('customer_known', `select ${customerSql('$1', '$2', '$3')} as stripe_customer`, null);

/** The account's Stripe customer; null: it has bought nothing yet. */
export function knownCustomer(db: Queryable, accountId: string, { mode, account }: StripeScope) {
  return readCustomer(db, accountId, mode, account);
}

/** A payment method that may be charged off-session; null: none. */
export async function savedMethod(stripe: StripeClient, customer: string): Promise<string | null> {
  const found = await ifThere(stripe.customers.retrieve(customer));
  if (!found || found.deleted) return null;
  const chosen = idOf(found.invoice_settings.default_payment_method);
  if (chosen !== null) return chosen;
  const { data } = await stripe.customers.listPaymentMethods(customer, { limit: 1 });
  return data[0]?.id ?? null;
}
