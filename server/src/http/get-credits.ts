import type { FastifyInstance } from 'fastify';
import { admit, admittingStatement } from '../accounts/admission.ts';
import type { Database } from '../kernel/database.ts';
import { PAID_BALANCE_OF_CALLER } from '../ledger/ledger.ts';
import { CreditBalanceSchema, errorAnswers } from './schemas.ts';

const ADMIT = admittingStatement('admit_credits', PAID_BALANCE_OF_CALLER);

/** GET /credits: the paid balance that the API may spend. */
export function getCreditsRoute(app: FastifyInstance, parts: { db: Database }): void {
  app.get(
    '/credits',
    {
      schema: {
        operationId: 'getCredits',
        summary: 'Read the paid credit balance',
        response: {
          200: { description: 'The balance.', ...CreditBalanceSchema },
          ...errorAnswers(401, 429),
        },
      },
    },
    async (request) => {
      const { authorization } = request.headers;
      const row = await admit<{ available_credits: number }>(parts.db, {
        authorization,
        sql: ADMIT,
      });
      return { available_credits: row.available_credits, balance_type: 'paid' };
    },
  );
}
