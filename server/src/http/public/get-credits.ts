import type { KeyGate } from '../../accounts/key-gate.ts';
import type { Database } from '../../database/database.ts';
import { availableNow, BALANCE_OF_CALLER } from '../../ledger/ledger.ts';
import { callerOf, described, type Endpoint, fusedRead } from './endpoint.ts';
import { CreditBalanceSchema, errorResponses } from './schemas.ts';

interface Balance {
  available_credits: number;
  is_behind: boolean;
}

/** GET /credits: the paid credits that the API can spend; of a test key, the test credits. */
export const getCredits: Endpoint<{ gate: KeyGate; db: Database }> = {
  description: described('GET /credits', {
    operationId: 'getCredits',
    summary: 'Read the paid credit balance',
    response: {
      200: { description: 'The balance.', ...CreditBalanceSchema },
      ...errorResponses(401, 429),
    },
  }),
  serve(api, { gate, db }) {
    const read = { ...BALANCE_OF_CALLER, inHalves: true };
    const { admit, rowOf } = fusedRead<Balance>(gate, 'admit_credits', read);
    api.route({
      ...getCredits.description,
      config: { admit },
      handler: async (request) => {
        const row = rowOf(request);
        const available_credits = row.is_behind
          ? await availableNow(db, callerOf(request).accountId)
          : row.available_credits;
        return { available_credits, balance_type: 'paid' };
      },
    });
  },
};
