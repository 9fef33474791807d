import type { FastifyInstance } from 'fastify';
import { openAdmission } from '../../accounts/admission.ts';
import type { Database } from '../../database/database.ts';
import { PAID_BALANCE_OF_CALLER } from '../../ledger/ledger.ts';
import { CreditBalanceSchema, errorResponses, SURFACE } from './schemas.ts';

interface Balance {
  available_credits: number;
}

/** GET /credits: the paid balance that the API may spend. */
export function getCreditsRoute(app: FastifyInstance, deps: { db: Database }): void {
  const admit = openAdmission<Balance>(deps.db, 'admit_credits', PAID_BALANCE_OF_CALLER);
  app.get(
    '/credits',
    {
      schema: {
        operationId: 'getCredits',
        summary: 'Read the paid credit balance',
        response: {
          200: { description: 'The balance.', ...CreditBalanceSchema },
          ...errorResponses(401, 429),
        },
      },
    },
    async (request) => {
      const { authorization } = request.headers;
      const row = await admit({ authorization, surface: SURFACE });
      return { available_credits: row.available_credits, balance_type: 'paid' };
    },
  );
}
