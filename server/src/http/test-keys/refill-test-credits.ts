import type { Database } from '../../database/database.ts';
import { ApiError } from '../../kernel/errors.ts';
import { refillTestCredits } from '../../ledger/kinds/test-credits.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { callerOf, type Endpoint } from '../public/endpoint.ts';
import { CreditBalanceSchema, errorResponses } from '../public/schemas.ts';

/** POST /test-credits: sets the test credits back to what they were at first. */
export const refillTest: Endpoint<{ db: Database }> = {
  description: {
    method: 'POST',
    url: '/test-credits',
    schema: {
      operationId: 'refillTestCredits',
      summary: 'Set the test credits back to 100,000; only with a test key',
      response: {
        200: {
          description: 'The test balance.',
          ...CreditBalanceSchema,
          examples: [{ available_credits: 100_000, balance_type: 'paid' }],
        },
        ...errorResponses(400, 401, 413, 429, 503),
      },
    },
  },
  serve(api, { db }) {
    api.route({
      ...refillTest.description,
      handler: async (request) => {
        const { accountId, surface } = callerOf(request);
        if (surface !== TEST_SURFACE) throw onlyWithTestKey();
        const available_credits = await refillTestCredits(db, accountId);
        return { available_credits, balance_type: 'paid' };
      },
    });
  },
};

function onlyWithTestKey(): ApiError {
  return new ApiError('invalid_request', 'Test credits are refilled with a test key only.', {
    details: { reason: 'live_key' },
  });
}
