import type { Database } from '../../database/database.ts';
import { readOverview } from '../../ledger/overview.ts';
import { type ResultOf, siteRoute } from '../route.ts';

/** The account that is signed in, and its credits. */
export type Me = ResultOf<typeof getMe>;

export const getMe = siteRoute({
  method: 'GET',
  url: '/console/api/me',
  handle: async ({ db }: { db: Database }, { session }) => {
    const { paid, promotional } = await readOverview(db, session.accountId);
    return {
      account_id: session.accountId,
      email: session.email,
      is_operator: session.isOperator,
      created_at: session.createdAt,
      credits: {
        // Available, of each kind.
        paid: paid.available,
        promotional: promotional.available,
        // Set aside for live tasks.
        reserved: paid.reserved + promotional.reserved,
        // Taken back after they were spent, and not paid yet.
        owed: paid.debt + promotional.debt,
      },
    };
  },
});
