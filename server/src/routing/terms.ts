import { type PricedRequest, secondsOf } from '../catalog/price.ts';
import { namedStatement, query, type Transaction } from '../database/database.ts';

/** What a connection charges for each second of a model's videos. Prices are exact decimals. */
export interface Terms {
  connection: string;
  model: string;
  resolution: string;
  price: string;
  /** With reference videos, for each second of these and the output; null: `price`, output only. */
  reference_price: string | null;
  currency: string;
  from: Date;
}

/** SQL for `order by … limit 1`: of the terms that began before a job, the newest apply. */
export const NEWEST_TERMS = 'holds_from desc, id desc';

const COLUMNS = `connection, model, resolution, trim_scale(price)::text as price,
  trim_scale(reference_price)::text as reference_price, currency, holds_from as "from"`;

export const listTerms = query<[], Terms>(
  'terms_list',
  `select ${COLUMNS} from terms order by connection, model, resolution, ${NEWEST_TERMS}`,
);

export const currentTerms = query<[], Terms>(
  'terms_current',
  `select distinct on (connection, model, resolution) ${COLUMNS} from terms
   where holds_from <= clock_now() order by connection, model, resolution, ${NEWEST_TERMS}`,
);

/** What a request is expected to cost; rounded, since only lists of costs must be exact. */
export function costBy(
  { price, reference_price: referencePrice, currency }: Terms,
  request: PricedRequest,
): { amount: number; currency: string } {
  const { output, reference } = secondsOf(request);
  const isReferenced = referencePrice !== null && reference > 0;
  const amount = isReferenced
    ? (output + reference) * Number(referencePrice)
    : output * Number(price);
  return { amount: Number(amount.toPrecision(12)), currency };
}

const SAVE = namedStatement(
  'terms_save',
  `with wanted as (
     select :connection::text as connection, :model::text as model, :resolution::text as resolution,
       :price::numeric as price, :referencePrice::numeric as reference_price,
       :currency::text as currency, coalesce(:from::timestamptz, clock_now()) as holds_from),
   same as (
     select from wanted, lateral (
       select t.price, t.reference_price, t.currency from terms t
       where t.connection = wanted.connection and t.model = wanted.model
         and t.resolution = wanted.resolution and t.holds_from <= wanted.holds_from
       order by ${NEWEST_TERMS} limit 1) held
     where (held.price, held.reference_price, held.currency)
       is not distinct from (wanted.price, wanted.reference_price, wanted.currency))
   insert into terms (connection, model, resolution, price, reference_price, currency, holds_from)
   select connection, model, resolution, price, reference_price, currency, holds_from from wanted
   where not exists (select from same) returning id`,
);

/**
 * Adds terms to the earlier ones, which are kept. The new ones may begin in the past, since costs
 * are computed when they are listed.
 * @returns whether this changed anything
 */
export async function saveTerms(
  tx: Transaction,
  terms: Omit<Terms, 'from'> & { from: Date | undefined },
): Promise<boolean> {
  const { reference_price: referencePrice, from = null, ...rest } = terms;
  return (await tx.query(SAVE, SAVE.values({ ...rest, referencePrice, from }))).length > 0;
}
