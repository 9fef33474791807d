import { type Queryable, query } from '../database/database.ts';
import { moneyUnits } from '../kernel/currency.ts';

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
