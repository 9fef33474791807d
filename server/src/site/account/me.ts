import type { Database } from '../../database/database.ts';
import { readOverview } from '../../ledger/overview.ts';
import { sessionOf, siteRoute } from '../route.ts';

/** The account that is signed in, and its credits. */
export interface Me {
  account_id: string;
  email: string;
  is_operator: boolean;
  /** ISO 8601. */
  created_at: string;
  credits: {
    /** Available, of each kind. */
    paid: number;
    promotional: number;
    /** Set aside for live tasks. */
    reserved: number;
    /** Taken back after they were spent, and not paid yet. */
    owed: number;
  };
}

export const getMe = siteRoute({
  method: 'GET',
  url: '/console/api/me',
  handle: async ({ db }: { db: Database }, { request }): Promise<Me> => {
    const { accountId, email, isOperator, createdAt } = sessionOf(request);
    const { paid, promotional } = await readOverview(db, accountId);
    const credits = {
      paid: paid.available,
      promotional: promotional.available,
      reserved: paid.reserved + promotional.reserved,
      owed: paid.debt + promotional.debt,
    };
    const created_at = createdAt.toISOString();
    return { account_id: accountId, email, is_operator: isOperator, created_at, credits };
  },
});
