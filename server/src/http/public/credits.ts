import type { KeyGate } from '../../accounts/key-gate.ts';
import type { Database } from '../../database/database.ts';
import { invalidRequest } from '../../kernel/errors.ts';
import { availableNow, BALANCE_OF_CALLER } from '../../ledger/ledger.ts';
import { refillTestCredits } from '../../ledger/test-credits.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { callerOf, endpoint, fusedRead } from './endpoint.ts';
import { CreditBalanceSchema, errorResponses, shown } from './schemas.ts';

export interface CallerBalance {
  available_credits: number;
  /**
   * Credits may have expired, or a debt is still to be subtracted: the balance must be computed.
   * Never true of test credits.
   */
  is_behind: boolean;
}

export const getCredits = endpoint<{ gate: KeyGate; db: Database }>('GET /credits', {
  operationId: 'getCredits',
  summary: 'Read the paid credit balance',
  response: {
    200: { description: 'The balance.', ...CreditBalanceSchema },
    ...errorResponses(401, 429),
  },
  serve: ({ gate, db }) => {
    const read = { ...BALANCE_OF_CALLER, isPipelined: true };
    const { admit, rowOf } = fusedRead<CallerBalance>(gate, 'admit_credits', read);
    return {
      config: { admit },
      handler: async (request) => {
        const row = rowOf(request);
        const available_credits = row.is_behind
          ? await availableNow(db, callerOf(request).accountId)
          : row.available_credits;
        return { available_credits, balance_type: 'paid' };
      },
    };
  },
});

/** The `balance_type` of test credits is `paid` too: the contract knows no other. */
export const refillTest = endpoint<{ db: Database }>('POST /test-credits', {
  operationId: 'refillTestCredits',
  summary: 'Set the test credits back to 100,000; only with a test key',
  response: {
    200: shown('The test balance.', CreditBalanceSchema, {
      available_credits: 100_000,
      balance_type: 'paid',
    }),
    ...errorResponses(400, 401, 413, 429, 503),
  },
  serve: ({ db }) => ({
    handler: async (request) => {
      const { accountId, surface } = callerOf(request);
      if (surface !== TEST_SURFACE) {
        const message = 'Test credits can only be refilled with a test key.';
        throw invalidRequest(message, { reason: 'live_key' });
      }
      const available_credits = await refillTestCredits(db, accountId);
      return { available_credits, balance_type: 'paid' };
    },
  }),
});
