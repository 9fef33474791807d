import { type Queryable, query, queryFirst } from '../database/database.ts';
import { moneyUnits } from '../kernel/currency.ts';
import type { CreditOrder } from './credit-order.ts';
import { offersOnSale } from './offers.ts';
import type { StripeScope } from './stripe-client.ts';

const readAverages = query<[], { currency: string; minor: number }>(
  'order_credit_prices',
  `select currency, sum(price)::float8 / sum(credits)::float8 as minor from (
     select currency, price, credits from orders where state = 'paid' and credits > 0
     order by created_at desc, id desc limit 1000) newest
   group by currency`,
);

/** What a credit was sold for on average in the newest orders, before taxes, by currency. */
export async function creditPrices(db: Queryable): Promise<Map<string, number>> {
  const averages = await readAverages(db);
  return new Map(
    averages.map(({ currency, minor }) => [currency, minor / moneyUnits(currency).perWhole]),
  );
}

const lastBought = queryFirst<
  [accountId: string, mode: StripeScope['mode']],
  Pick<CreditOrder, 'price' | 'credits' | 'currency' | 'kind'>
>(
  'order_last_bought',
  `select price, credits, currency, kind from orders
   where account_id = $1 and stripe_mode = $2 and state = 'paid' and credits > 0
   order by created_at desc, id desc limit 1`,
);

/** The credits that a price (in minor units) buys: shown to customers as their credits' value. */
interface CreditRate {
  price: number;
  credits: number;
  currency: string;
  by: 'at your last pack' | 'with your plan' | 'in the smallest pack';
}

/** The rate of an account's last purchase, otherwise of the smallest pack; null: none is sold. */
export async function creditRate(
  db: Queryable,
  { mode }: StripeScope,
  accountId?: string,
): Promise<CreditRate | null> {
  const last = accountId === undefined ? undefined : await lastBought(db, accountId, mode);
  if (last) {
    const { kind, ...rate } = last;
    return { ...rate, by: kind === 'invoice' ? 'with your plan' : 'at your last pack' };
  }
  const packs = await offersOnSale(db, 'pack');
  const [smallest] = packs.toSorted((one, other) => one.credits - other.credits);
  if (!smallest) return null;
  const { price, credits, currency } = smallest;
  return { price, credits, currency, by: 'in the smallest pack' };
}
