import { type PricedRequest, secondsOf } from '../catalog/price.ts';
import { command, first, namedStatement, query, type Transaction } from '../database/database.ts';

/** A price is for each second of the output, or of the job's compute time. */
export const TERMS_UNITS = ['output-second', 'compute-second'] as const;

/** What a connection charges for each second of a model's videos. Prices are exact decimals. */
export interface Terms {
  id: number;
  connection: string;
  model: string;
  resolution: string;
  per: (typeof TERMS_UNITS)[number];
  price: string;
  /**
   * The price of a request with reference videos, whose seconds are then charged too. null:
   * `price`, for the seconds of the output only.
   */
  reference_price: string | null;
  currency: string;
  from: Date;
}

/** SQL for `order by … limit 1`: the newest terms that began before a job apply to it. */
export const NEWEST_TERMS = 'holds_from desc, id desc';

const COLUMNS = `id, connection, model, resolution, per, trim_scale(price)::text as price,
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

/**
 * What a request is expected to cost, rounded: `costs list` computes it exactly, from what the job
 * did. @returns undefined for terms by compute time, which is not known in advance
 */
export function costBy(
  { per, price, reference_price: referencePrice, currency }: Terms,
  request: PricedRequest,
): { amount: number; currency: string } | undefined {
  if (per === 'compute-second') return undefined;
  const { output, reference } = secondsOf(request);
  const isReferenced = referencePrice !== null && reference > 0;
  const amount = isReferenced
    ? (output + reference) * Number(referencePrice)
    : output * Number(price);
  return { amount: Number(amount.toPrecision(12)), currency };
}

/** Changes run one at a time: each is checked against those before. */
const lockTerms = command<[], Transaction>(
  'terms_lock',
  `select pg_advisory_xact_lock(hashtextextended('terms', 0))`,
);

const SAVE = namedStatement(
  'terms_save',
  `with wanted as (
     select :connection::text as connection, :model::text as model, :resolution::text as resolution,
       :per::text as per, :price::numeric as price, :referencePrice::numeric as reference_price,
       :currency::text as currency, coalesce(:from::timestamptz, clock_now()) as holds_from),
   judged as (
     select case
         when (earlier.per, earlier.price, earlier.reference_price, earlier.currency)
           is not distinct from (wanted.per, wanted.price, wanted.reference_price, wanted.currency)
           then 'unchanged'
         when earlier.price is not null and :from::timestamptz < clock_now() then 'too_early'
         else 'set' end as verdict
     from wanted left join lateral (
       select t.per, t.price, t.reference_price, t.currency from terms t
       where t.connection = wanted.connection and t.model = wanted.model
         and t.resolution = wanted.resolution and t.holds_from <= wanted.holds_from
       order by ${NEWEST_TERMS} limit 1) earlier on true),
   added as (
     insert into terms
       (connection, model, resolution, per, price, reference_price, currency, holds_from)
     select connection, model, resolution, per, price, reference_price, currency, holds_from
     from wanted, judged where verdict = 'set')
   select verdict from judged`,
);

/**
 * Adds terms to the earlier ones, which are kept. A known cost never changes: new terms may begin
 * in the past only where none applied.
 * @returns `too_early`: others applied at the past date, so nothing was added
 */
export async function saveTerms(
  tx: Transaction,
  terms: Omit<Terms, 'id' | 'from'> & { from: Date | undefined },
): Promise<'set' | 'unchanged' | 'too_early'> {
  const { reference_price: referencePrice, from = null, ...rest } = terms;
  await lockTerms(tx);
  type Row = { verdict: 'set' | 'unchanged' | 'too_early' };
  const row = await first<Row>(tx, SAVE, SAVE.values({ ...rest, referencePrice, from }));
  return row?.verdict ?? 'unchanged';
}
