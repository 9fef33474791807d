import { Type } from 'typebox';
import { creditRate } from '../../billing/credit-price.ts';
import type { Database } from '../../database/database.ts';
import { readOverview } from '../../ledger/overview.ts';
import { testBalance } from '../../ledger/test-credits.ts';
import type { BillingSiteDeps } from '../billing/stripe-work.ts';
import { ModeSchema, type ResultOf, siteRoute } from '../route.ts';
import type { ShareDeps } from '../shares.ts';

/** The signed-in account and its balance in the page's mode. */
export type Me = ResultOf<typeof getMe>;

export const getMe = siteRoute('GET /console/api/me', {
  query: Type.Object({ mode: ModeSchema }),
  handle: async ({ db, billing, shares }: BillingSiteDeps & ShareDeps, { query, session }) => {
    const person = {
      account_id: session.accountId,
      email: session.email,
      is_operator: session.isOperator,
      created_at: session.createdAt,
      /** Whether this service lets videos be shared. */
      can_share: shares !== undefined,
    };
    if (query.mode === 'test') {
      const { available: test, reserved } = await testBalance(db, session.accountId);
      return { ...person, mode: 'test' as const, credits: { test, reserved } };
    }
    const credits = await liveCredits(db, session.accountId);
    const rate = billing ? await creditRate(db, billing.scope, session.accountId) : null;
    return { ...person, mode: 'live' as const, credits, rate };
  },
});

async function liveCredits(db: Database, accountId: string) {
  const { paid, promotional } = await readOverview(db, accountId);
  return {
    paid: paid.available,
    promotional: promotional.available,
    reserved: paid.reserved + promotional.reserved,
    // Clawed back after they were spent, and not repaid yet.
    owed: paid.debt + promotional.debt,
  };
}
