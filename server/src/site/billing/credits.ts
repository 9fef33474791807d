import { Type } from 'typebox';
import { creditRate } from '../../billing/credit-price.ts';
import { knownCustomer } from '../../billing/customers.ts';
import { readLowBalance, setAlert, setReload } from '../../billing/low-balance/settings.ts';
import { type Offer, offersOnSale } from '../../billing/offers.ts';
import { type CreditOverview, readOverview } from '../../ledger/overview.ts';
import type { CreditKind } from '../../ledger/transfer.ts';
import { type ResultOf, siteRoute } from '../route.ts';
import { tellOwner } from '../tell-owner.ts';
import { type BillingSiteDeps, withStripe } from './stripe-work.ts';

/** The account's credits, and what happens when they run low. */
export type Credits = ResultOf<typeof getCreditsPage>;

const getCreditsPage = siteRoute('GET /console/api/credits', {
  handle: async ({ db, billing }: BillingSiteDeps, { session: { accountId } }) => {
    const overview = await readOverview(db, accountId);
    const sells = billing !== undefined;
    const { alert_below, auto_reload } = await readLowBalance(db, accountId);
    return {
      paid: shownBalance(overview, 'paid'),
      promotional: shownBalance(overview, 'promotional'),
      // Available credits that expire, soonest first.
      expiring: overview.lots
        .filter(({ available }) => available > 0)
        .toSorted((a, b) => a.expires_at.getTime() - b.expires_at.getTime())
        .map(({ kind, available: credits, expires_at }) => ({ kind, credits, expires_at })),
      sells,
      alert_below,
      auto_reload: sells ? auto_reload : null,
      // Whether Stripe's Customer Portal has anything to manage.
      has_portal: sells && (await knownCustomer(db, accountId, billing.scope)) !== null,
    };
  },
});

function shownBalance(overview: CreditOverview, kind: CreditKind) {
  const { available, reserved, debt } = overview[kind];
  return { available, reserved, owed: debt };
}

/** Limited because a low-balance alert may send a mail, and auto-reload calls Stripe. */
const CHANGES = { max: 20, seconds: 600 };

const CREDITS = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });

/** Sets below how many available paid credits a mail is sent; null: never. */
const putLowBalance = siteRoute('PUT /console/api/low-balance', {
  rate: CHANGES,
  body: Type.Object({ below: Type.Union([CREDITS, Type.Null()]) }),
  handle: async ({ db }: BillingSiteDeps, { body, session: { accountId } }) => {
    await setAlert(db, accountId, body.below);
    return readLowBalance(db, accountId);
  },
});

/** Sets below how many available paid credits a pack is bought, up to a monthly limit. */
const putAutoReload = siteRoute('PUT /console/api/auto-reload', {
  rate: CHANGES,
  proof: ({ auto_reload: wanted }) => (wanted === null ? undefined : 'auto_reload'),
  body: Type.Object({
    auto_reload: Type.Union([
      Type.Object(
        {
          pack_id: Type.String({ maxLength: 40 }),
          below: CREDITS,
          /** In minor units of the pack's currency. */
          monthly_limit: CREDITS,
        },
        { additionalProperties: false },
      ),
      Type.Null(),
    ]),
  }),
  handle: async (deps: BillingSiteDeps, { request, body, session: { accountId } }) => {
    // The owner is told when it is switched on or changed, not when it is switched off.
    const what = 'Auto-reload was set up: packs are bought with your saved card';
    await withStripe(deps, (billing) =>
      setReload(billing, accountId, body.auto_reload, (tx) =>
        tellOwner(tx, { ...billing, request }, { accountId, what }),
      ),
    );
    return readLowBalance(deps.db, accountId);
  },
});

export type OnSale = Awaited<ReturnType<typeof onSale>>;

export async function onSale({ db, billing }: BillingSiteDeps) {
  const listed = (kind: Offer['kind']) => (billing ? offersOnSale(db, kind) : []);
  const packs = await listed('pack');
  const plans = await listed('plan');
  return {
    // Whether no real money moves: Stripe is in test mode, or simulated.
    is_test: billing?.scope.mode === 'test',
    // Money per credit, by the smallest pack: for customers who have not bought any.
    rate: billing ? await creditRate(db, billing.scope) : null,
    packs: packs.map(shownOffer),
    plans: plans.map((plan) => ({
      ...shownOffer(plan),
      period: plan.period ?? ('month' as const),
    })),
  };
}

/** An offer; its price is in minor units of the currency. */
function shownOffer({ id, name, credits, price, currency, expires_days }: Offer) {
  return { id, name, credits, price, currency, expires_days };
}

const getPacks = siteRoute('GET /console/api/packs', {
  handle: (deps: BillingSiteDeps) => onSale(deps),
});

export const CREDIT_ROUTES = [getCreditsPage, putLowBalance, putAutoReload, getPacks];
