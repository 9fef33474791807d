import { Type } from 'typebox';
import { readLowBalance, setAlert, setReload } from '../../billing/low-balance/settings.ts';
import { siteRoute } from '../route.ts';
import { tellOwner } from '../tell-owner.ts';
import { type BillingSiteDeps, withStripe } from './stripe-work.ts';

/** The one may lead to a mail, the other asks Stripe. */
const CHANGES = { max: 20, seconds: 600 };

const CREDITS = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });

/** Sends a mail when fewer paid credits are available; null: never. */
export const putLowBalance = siteRoute('PUT /console/api/low-balance', {
  rate: CHANGES,
  body: Type.Object({ below: Type.Union([CREDITS, Type.Null()]) }),
  handle: async ({ db }: BillingSiteDeps, { body, session: { accountId } }) => {
    await setAlert(db, accountId, body.below);
    return readLowBalance(db, accountId);
  },
});

/** Buys a pack when fewer paid credits are available, up to a limit a month; null: never. */
export const putAutoReload = siteRoute('PUT /console/api/auto-reload', {
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
    const what = 'Auto-reload was set up: packs are bought with your saved card';
    await withStripe(deps, (billing) =>
      setReload(billing, accountId, body.auto_reload, (tx) =>
        tellOwner(tx, { ...billing, request }, { accountId, what }),
      ),
    );
    return readLowBalance(deps.db, accountId);
  },
});
