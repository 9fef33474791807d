import { listOffers, type Offer, readOffer, retireOffer, setOffer } from '../../billing/offers.ts';
import type { Database, Transaction } from '../../database/database.ts';
import { type Action, performAction } from '../actions.ts';
import { choiceOf, type InputOf, optional, text, whole } from '../verb/fields.ts';
import { verb } from '../verb/verb.ts';

const ID = text('Its id: 1 to 40 characters of a-z, 0-9 and -, such as starter.', { word: 'ID' });

const ID_SHAPE = /^[a-z0-9][a-z0-9-]{0,39}$/;

/** The fields of an offer, with their bounds, which nothing else checks. */
const OFFER_FIELDS = {
  id: text(ID.about, {
    word: ID.word,
    pattern: [ID_SHAPE, 'must have 1 to 40 characters of a-z, 0-9 and -, such as starter'],
  }),
  name: text('The name that customers see.', { word: 'N', max: 80 }),
  credits: whole('Credits that the customer gets.', { word: 'C', min: 1, max: 1_000_000_000 }),
  price: whole('Its price in minor units of the currency, such as 990 for 9.90 USD.', {
    word: 'MINOR',
    min: 1,
    max: 99_999_999, // Stripe's limit
  }),
  currency: text('Three letters, such as usd. It can not be changed later.', {
    word: 'CUR',
    pattern: [/^[a-z]{3}$/i, 'must have three letters, such as usd'],
  }),
};
const EXPIRES_DAYS = optional(
  whole('Days after which the credits expire; without it, never.', {
    word: 'D',
    min: 1,
    max: 3650,
  }),
);

type OfferTerms = InputOf<typeof OFFER_FIELDS & { expires_days: typeof EXPIRES_DAYS }>;

function sell(
  db: Database,
  action: Action,
  { type, terms }: { type: Pick<Offer, 'kind' | 'period'>; terms: OfferTerms },
) {
  const offer = {
    ...type,
    ...terms,
    currency: terms.currency.toLowerCase(),
    expires_days: terms.expires_days ?? null,
  };
  const { id: target, ...details } = offer;
  const before = (tx: Transaction) => readOffer(tx, type.kind, target);
  return performAction(db, action, { target, details, before }, async (tx) => {
    const changed = await setOffer(tx, offer);
    return { ...offer, active: true, changed };
  });
}

function retireVerb(kind: Offer['kind']) {
  return verb({
    summary: `Stop selling a ${kind}`,
    fields: { id: ID },
    positional: ['id'],
    reason: 'required',
    dialog: { title: `Retire the ${kind}` },
    run: ({ db }, { id }, action) =>
      performAction(db, action, { target: id }, async (tx) => {
        const changed = await retireOffer(tx, kind, id);
        return { id, active: false, changed };
      }),
  });
}

function listVerb(kind: Offer['kind']) {
  return verb({
    summary: `List ${kind}s, also those that are not sold any more`,
    fields: {},
    run: ({ db }) => listOffers(db, kind),
  });
}

export const PACKS = {
  'packs set': verb({
    summary: 'Sell or change a pack; open orders keep their terms. MINOR: 990 for 9.90 USD',
    fields: { ...OFFER_FIELDS, expires_days: EXPIRES_DAYS },
    positional: ['id'],
    reason: 'required',
    dialog: { title: 'Sell the pack' },
    run: ({ db }, terms, action) =>
      sell(db, action, { type: { kind: 'pack', period: null }, terms }),
  }),
  'packs retire': retireVerb('pack'),
  'packs list': listVerb('pack'),
};

export const PLANS = {
  'plans set': verb({
    summary: 'Sell or change a subscription plan; existing subscriptions keep their terms',
    fields: {
      ...OFFER_FIELDS,
      period: optional(choiceOf('How often it is paid; by default each month.', ['month', 'year'])),
      expires_days: EXPIRES_DAYS,
    },
    positional: ['id'],
    reason: 'required',
    dialog: { title: 'Sell the plan' },
    run: ({ db }, { period = 'month', ...terms }, action) =>
      sell(db, action, { type: { kind: 'plan', period }, terms }),
  }),
  'plans retire': retireVerb('plan'),
  'plans list': listVerb('plan'),
};
