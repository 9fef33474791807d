import { type Queryable, statement } from '../database/database.ts';
import { type BillingDeps, idOf, type StripeClient } from './stripe-client.ts';

const READ = statement(
  'customer_read',
  `select a.email, b.stripe_customer from accounts a
   left join billing_accounts b on b.account_id = a.id where a.id = $1 and a.erased_at is null`,
);

// Two statements: of two inserts with the same customer at once, one would violate the unique index
// of the customer, which `on conflict (account_id)` does not cover.
const PREPARE = statement(
  'customer_prepare',
  'insert into billing_accounts (account_id) values ($1) on conflict (account_id) do nothing',
);
const SAVE = statement(
  'customer_save',
  `update billing_accounts set stripe_customer = coalesce(stripe_customer, $2)
   where account_id = $1 returning stripe_customer`,
);

/** The account's customer at Stripe, made at its first purchase. */
export async function customerOf(
  { db, stripe }: Pick<BillingDeps, 'db' | 'stripe'>,
  accountId: string,
): Promise<string> {
  const [account] = await db.query<{ email: string; stripe_customer: string | null }>(READ, [
    accountId,
  ]);
  if (!account) throw new Error(`there is no account ${accountId}`);
  if (account.stripe_customer !== null) return account.stripe_customer;
  const customer = await stripe.customers.create(
    { email: account.email, metadata: { account: accountId } },
    { idempotencyKey: `customer:${accountId}` },
  );
  return saveCustomer(db, accountId, customer.id);
}

/** @returns the customer of the account: this one, or the one that was saved before */
export async function saveCustomer(
  db: Queryable,
  accountId: string,
  customer: string,
): Promise<string> {
  await db.query(PREPARE, [accountId]);
  const [saved] = await db.query<{ stripe_customer: string }>(SAVE, [accountId, customer]);
  return saved?.stripe_customer ?? customer;
}

const KNOWN = statement(
  'customer_known',
  'select stripe_customer from billing_accounts where account_id = $1',
);

/** The account's customer at Stripe; null: it has bought nothing yet. */
export async function knownCustomer(db: Queryable, accountId: string): Promise<string | null> {
  const [row] = await db.query<{ stripe_customer: string | null }>(KNOWN, [accountId]);
  return row?.stripe_customer ?? null;
}

/** A payment method that may be charged while the customer is away; null: there is none. */
export async function savedMethod(stripe: StripeClient, customer: string): Promise<string | null> {
  const found = await stripe.customers.retrieve(customer);
  if (found.deleted) return null;
  const chosen = idOf(found.invoice_settings.default_payment_method);
  if (chosen !== null) return chosen;
  const { data } = await stripe.customers.listPaymentMethods(customer, { limit: 1 });
  return data[0]?.id ?? null;
}
