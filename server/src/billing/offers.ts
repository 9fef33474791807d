import {
  namedStatement,
  type Queryable,
  query,
  queryFirst,
  whether,
} from '../database/database.ts';
import { formatMoney, moneyUnits } from '../kernel/currency.ts';
import { Refusal, UsageError } from '../kernel/errors.ts';

/** Credits for a price. A plan renews every period. */
export interface Offer {
  id: string;
  kind: 'pack' | 'plan';
  name: string;
  credits: number;
  /** In minor units of the currency, such as cents, as Stripe counts them. */
  price: number;
  currency: string;
  period: 'month' | 'year' | null;
  /** Days until the credits expire; null: never. */
  expires_days: number | null;
  active: boolean;
}

const COLUMNS = 'id, kind, name, credits, price, currency, period, expires_days, active' as const;

/** Packs or plans: those on sale first, by currency and price. */
export const listOffers = query<[kind: Offer['kind']], Offer>(
  'offer_list',
  `select ${COLUMNS} from offers where kind = $1
   order by active desc, currency, price, id`,
);

export async function offersOnSale(db: Queryable, kind: Offer['kind']): Promise<Offer[]> {
  return (await listOffers(db, kind)).filter(({ active }) => active);
}

/** A pack or plan, even if it is no longer sold; undefined if there is none. */
export const readOffer = queryFirst<[kind: Offer['kind'], id: string], Offer>(
  'offer_read',
  `select ${COLUMNS} from offers where kind = $1 and id = $2`,
);

const SET = namedStatement(
  'offer_set',
  `insert into offers (id, kind, name, credits, price, currency, period, expires_days)
   values (:id, :kind, :name, :credits, :price, :currency, :period, :expires_days)
   on conflict (id) do update set name = excluded.name, credits = excluded.credits,
     price = excluded.price, period = excluded.period,
     expires_days = excluded.expires_days, active = true
   where offers.kind = excluded.kind and offers.currency = excluded.currency and (not offers.active
     or (offers.name, offers.credits, offers.price, offers.period, offers.expires_days)
       is distinct from (excluded.name, excluded.credits, excluded.price, excluded.period,
       excluded.expires_days))
   returning id`,
);

/**
 * Creates or changes a pack or plan; existing orders and subscriptions keep their terms. The
 * currency is fixed: the monthly limits of automatic purchases are in it.
 * @returns false if nothing changed
 * @throws UsageError if a value is invalid, the currency differs, or the other kind has this id
 */
export async function setOffer(db: Queryable, offer: Omit<Offer, 'active'>): Promise<boolean> {
  checkPrice(offer);
  if ((await db.query(SET, SET.values(offer))).length > 0) return true;
  const found = await readOffer(db, offer.kind, offer.id);
  if (found?.currency === offer.currency) return false;
  if (found) throw new UsageError(`${offer.id} is sold in ${found.currency}: use another id`);
  throw new UsageError(`${offer.id} is the id of a ${offer.kind === 'pack' ? 'plan' : 'pack'}`);
}

/** In some currencies, Stripe takes only multiples of a step. Commands check the other fields. */
function checkPrice({ price, currency }: Omit<Offer, 'active'>) {
  const { step } = moneyUnits(currency);
  if (price % step === 0) return;
  const least = formatMoney(step, currency);
  throw new Refusal(
    'price',
    price,
    `must be divisible by ${step}: Stripe counts ${least} as ${step}`,
  );
}

const retire = whether<[kind: Offer['kind'], id: string]>(
  'offer_retire',
  'update offers set active = false where kind = $1 and id = $2 and active returning id',
);

/**
 * Subscriptions continue. @returns false if it was retired already @throws UsageError if there is
 * none
 */
export async function retireOffer(
  db: Queryable,
  kind: Offer['kind'],
  id: string,
): Promise<boolean> {
  if (await retire(db, kind, id)) return true;
  if (await readOffer(db, kind, id)) return false;
  throw new UsageError(`there is no ${kind} ${JSON.stringify(id)}`);
}
