import { knownCustomer } from '../../billing/customers.ts';
import { readLowBalance } from '../../billing/low-balance/settings.ts';
import { type CreditOverview, readOverview } from '../../ledger/overview.ts';
import type { CreditKind } from '../../ledger/transfer.ts';
import { type ResultOf, siteRoute } from '../route.ts';
import type { BillingSiteDeps } from './stripe-work.ts';

/** The credits of the account, and what happens when they run low. */
export type Credits = ResultOf<typeof getCreditsPage>;

export const getCreditsPage = siteRoute('GET /console/api/credits', {
  handle: async ({ db, billing }: BillingSiteDeps, { session: { accountId } }) => {
    const overview = await readOverview(db, accountId);
    const sells = billing !== undefined;
    const { alert_below, auto_reload } = await readLowBalance(db, accountId);
    return {
      paid: kindOf(overview, 'paid'),
      promotional: kindOf(overview, 'promotional'),
      // Available credits that expire, the next first.
      expiring: overview.lots
        .filter(({ available }) => available > 0)
        .toSorted((one, other) => one.expires_at.getTime() - other.expires_at.getTime())
        .map(({ kind, available: credits, expires_at }) => ({ kind, credits, expires_at })),
      // Whether packs and plans are sold here.
      sells,
      alert_below,
      auto_reload: sells ? auto_reload : null,
      // Whether there is anything to manage at Stripe.
      has_portal: sells && (await knownCustomer(db, accountId, billing.scope)) !== null,
    };
  },
});

function kindOf(overview: CreditOverview, kind: CreditKind) {
  const { available, reserved, debt } = overview[kind];
  return { available, reserved, owed: debt };
}
