import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { CAP_OF_CALLER } from '../../accounts/api-keys.ts';
import type { KeyGate } from '../../accounts/key-gate.ts';
import { secondsOf } from '../../catalog/price.ts';
import { GenerationBodySchema, type GenerationRequest } from '../../catalog/request.ts';
import type { Database } from '../../database/database.ts';
import { availableNow, BALANCE_OF_CALLER } from '../../ledger/ledger.ts';
import { requireJsonType } from '../../requests/bodies.ts';
import {
  type PricingDeps,
  priceRequest,
  simulatesInsufficientCredits,
} from '../../requests/create-flow.ts';
import { spentThisMonth } from '../../tasks/create/key-cap.ts';
import type { CallerBalance } from './credits.ts';
import { callerOf, endpoint, fusedRead } from './endpoint.ts';
import { errorResponses, shown } from './schemas.ts';

const Count = (description: string) => Type.Integer({ minimum: 0, description });

const QuoteSchema = Type.Object(
  {
    credits: Count('What a create with this body reserves'),
    credits_per_second: Count('Per second of the output and of the reference videos'),
    output_seconds: Count('The length of the video'),
    reference_seconds: Count('The length of all reference videos together, as declared'),
    available_credits: Count('Paid credits that the API can spend now'),
    enough: Type.Boolean({
      description: 'Whether these and the monthly cap of the API key suffice for a create now',
    }),
  },
  { title: 'Quote' },
);

const EXAMPLE = {
  credits: 240,
  credits_per_second: 30,
  output_seconds: 5,
  reference_seconds: 3,
  available_credits: 10_000,
  enough: true,
};

interface Row extends CallerBalance {
  monthly_cap: number | null;
}

export const createQuote = endpoint<
  PricingDeps & { gate: KeyGate; db: Database },
  { Body: GenerationRequest }
>('POST /video/quotes', {
  operationId: 'createQuote',
  summary: 'Read the price of a video generation without creating it',
  body: GenerationBodySchema,
  response: {
    200: shown('The price.', QuoteSchema, EXAMPLE),
    ...errorResponses(400, 401, 413, 429, 503),
  },
  serve: (deps) => {
    const { gate, db } = deps;
    const { admit, rowOf } = fusedRead<Row>(gate, 'admit_quote', {
      columns: `${BALANCE_OF_CALLER.columns}, ${CAP_OF_CALLER.columns}`,
      joins: `${BALANCE_OF_CALLER.joins} ${CAP_OF_CALLER.joins}`,
    });
    const read = async (request: FastifyRequest) => {
      const { accountId, keyId } = callerOf(request);
      const { available_credits, is_behind, monthly_cap } = rowOf(request);
      const available = is_behind ? await availableNow(db, accountId) : available_credits;
      if (monthly_cap === null) return { available, spendable: available };
      const used = (await spentThisMonth(db, [keyId])).get(keyId) ?? 0;
      return { available, spendable: Math.min(available, monthly_cap - used) };
    };
    return {
      config: { admit, mediaUrls: { hosts: deps.clientHosts, publicUrl: deps.publicUrl } },
      preValidation: async ({ headers }) => requireJsonType(headers['content-type']),
      handler: async (request) => {
        const { body } = request;
        const caller = callerOf(request);
        const { price } = await priceRequest(deps, caller, body);
        const { available, spendable } = await read(request);
        const { output, reference } = secondsOf(body);
        return {
          credits: price.credits,
          credits_per_second: price.credits / (output + reference),
          output_seconds: output,
          reference_seconds: reference,
          available_credits: available,
          enough: spendable >= price.credits && !simulatesInsufficientCredits(caller.surface, body),
        };
      },
    };
  },
});
