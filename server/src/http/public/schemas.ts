import { Type } from 'typebox';
import { errorCodesOf, type OwnErrorCode } from '../../kernel/errors.ts';

/** The error envelope with one of these codes (contract, "Resources and their fields"). */
function errorEnvelopeSchema(codes: string[]) {
  return Type.Object({
    error: Type.Object({
      code: Type.String({ enum: codes }),
      message: Type.String(),
      details: Type.Optional(
        Type.Object(
          {},
          { additionalProperties: true, description: 'docs/ERRORS.md lists the members.' },
        ),
      ),
    }),
  });
}

const MEANINGS = {
  400: 'Invalid request, task id or media.',
  401: 'Missing, invalid, expired or revoked API key.',
  402: 'Insufficient paid credits.',
  404: 'Task not found for this account or API surface.',
  409: 'The Idempotency-Key belongs to a different body.',
  413: 'The JSON body exceeds 64 KiB.',
  429: 'Per-key rate limit exceeded; see Retry-After.',
  503: 'Temporarily unavailable or uncertain. Retry only with the same Idempotency-Key.',
};

/** The error responses of a route, for its schema. */
export function errorResponses(...statuses: Array<keyof typeof MEANINGS>) {
  const responses = statuses.map((status) => {
    return [
      status,
      { description: MEANINGS[status], ...errorEnvelopeSchema(errorCodesOf(status)) },
    ];
  });
  return Object.fromEntries(responses);
}

/** The 409 of an operation that has a code of its own. */
export function conflictResponse(code: OwnErrorCode, description: string) {
  return { 409: { description, ...errorEnvelopeSchema([code]) } };
}

/** The header of a create. The route checks it: a schema would check it after the fields (C7). */
export const IdempotencyKeyHeader = Type.Object({
  'idempotency-key': Type.String({
    minLength: 1,
    maxLength: 160,
    pattern: '^[a-zA-Z0-9._:-]+$',
    description: 'One per logical request. Reuse it only with an identical body.',
  }),
});

export const CreditBalanceSchema = Type.Object(
  {
    available_credits: Type.Integer({
      minimum: 0,
      description: 'Paid credits that the API can spend',
    }),
    balance_type: Type.Literal('paid'),
  },
  { examples: [{ available_credits: 10_000, balance_type: 'paid' }] },
);

/** A task as the examples of openapi.json show it. */
export const EXAMPLE_TASK = {
  id: 'task_7Jp0Zk3uYb',
  status: 'completed',
  model: 'video-2.0-fast',
  mode: 'text-to-video',
  credits_used: 250,
  credits_refunded: 0,
  output: { video_url: 'https://video.example.com/media/obj_4Tq8.mp4?expires=1795430400&sig=a' },
  error: null,
  created_at: '2026-11-22T10:00:00.000Z',
  updated_at: '2026-11-22T10:01:30.000Z',
};

/** The same task when it was just created. */
export const EXAMPLE_NEW_TASK = {
  ...EXAMPLE_TASK,
  status: 'processing',
  output: null,
  updated_at: EXAMPLE_TASK.created_at,
};
