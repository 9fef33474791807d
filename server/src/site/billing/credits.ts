import { knownCustomer } from '../../billing/customers.ts';
import { type LowBalanceSettings, readLowBalance } from '../../billing/low-balance/settings.ts';
import { type CreditOverview, readOverview } from '../../ledger/overview.ts';
import type { CreditKind } from '../../ledger/transfer.ts';
import { sessionOf, siteRoute } from '../route.ts';
import type { BillingSiteDeps } from './stripe-work.ts';

interface KindCredits {
  available: number;
  /** Set aside for live tasks. */
  reserved: number;
  /** Taken back after they were spent, and not paid yet. */
  owed: number;
}

/** The credits of the account, and what happens when they run low. */
export interface Credits extends LowBalanceSettings, Record<CreditKind, KindCredits> {
  /** Available credits that expire, the next first. */
  expiring: Array<{ kind: CreditKind; credits: number; expires_at: string }>;
  /** Whether packs and plans are sold here. */
  sells: boolean;
  /** Whether there is anything to manage at Stripe. */
  has_portal: boolean;
}

export const getCreditsPage = siteRoute({
  method: 'GET',
  url: '/console/api/credits',
  handle: async ({ db, billing }: BillingSiteDeps, { request }): Promise<Credits> => {
    const { accountId } = sessionOf(request);
    const overview = await readOverview(db, accountId);
    const sells = billing !== undefined;
    const { alert_below, auto_reload } = await readLowBalance(db, accountId);
    return {
      paid: kindOf(overview, 'paid'),
      promotional: kindOf(overview, 'promotional'),
      expiring: overview.lots
        .filter(({ available }) => available > 0)
        .toSorted((one, other) => one.expires_at.getTime() - other.expires_at.getTime())
        .map(({ kind, available: credits, expires_at }) => ({
          kind,
          credits,
          expires_at: expires_at.toISOString(),
        })),
      sells,
      alert_below,
      auto_reload: sells ? auto_reload : null,
      has_portal: sells && (await knownCustomer(db, accountId, billing.scope)) !== null,
    };
  },
});

function kindOf(overview: CreditOverview, kind: CreditKind): KindCredits {
  const { available, reserved, debt } = overview[kind];
  return { available, reserved, owed: debt };
}
