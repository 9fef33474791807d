import { type TSchema, Type } from 'typebox';
import { errorCodesOf, OWN_ERROR_CODES, type OwnErrorCode } from '../../kernel/errors.ts';
import { KEY_SHAPE } from '../../requests/create-flow.ts';
import { VideoTaskSchema } from '../../requests/video-task.ts';

const RefusedInputSchema = Type.Object(
  {
    field: Type.String({ description: 'The field of the body' }),
    index: Type.Optional(Type.Integer({ minimum: 0, description: 'In a list field, from 0' })),
    reason: Type.String({ description: 'The reasons are listed at /docs/errors#reason' }),
    message: Type.String({ description: 'A sentence for people' }),
  },
  { title: 'RefusedInput', additionalProperties: true },
);

/** The members that clients branch on. Errors may have more: docs/customers/ERRORS.md lists them. */
const ErrorDetailsSchema = Type.Object(
  {
    charged: Type.Optional(
      Type.Enum(['no', 'reserved', 'refunded'], {
        description: 'For a create: what happened to its credits; reserved also if that is unknown',
      }),
    ),
    retry: Type.Optional(
      Type.Enum(['same_key', 'new_key', 'never'], {
        description: 'For a create: the Idempotency-Key to send the same body with',
      }),
    ),
    field: Type.Optional(Type.String({ description: 'Where the error is' })),
    entry: Type.Optional(Type.Integer({ minimum: 0, description: 'In a list field, from 0' })),
    reason: Type.Optional(
      Type.String({ description: 'The reasons are listed at /docs/errors#reason' }),
    ),
    inputs: Type.Optional(
      Type.Array(RefusedInputSchema, { description: 'Each file that was refused' }),
    ),
    task_id: Type.Optional(Type.String({ description: 'The task that was created' })),
    task: Type.Optional({ ...VideoTaskSchema, description: 'The task as it is now' }),
    credits: Type.Optional(
      Type.Enum(['refunded', 'held'], { description: 'What happened to the credits of the task' }),
    ),
    required_credits: Type.Optional(
      Type.Integer({ minimum: 0, description: 'With 402: the price of the request' }),
    ),
    test: Type.Optional(Type.Boolean({ description: 'true: the request has a test key' })),
  },
  { title: 'ErrorDetails', additionalProperties: true },
);

/** The error envelope with one of these codes (docs/customers/ERRORS.md). */
function errorEnvelopeSchema(codes: string[], title: string) {
  const code = Type.String({ enum: codes, description: 'Branch on it, never on the message' });
  return Type.Object(
    {
      error: Type.Object(
        {
          code,
          message: Type.String({ description: 'A sentence for people' }),
          details: Type.Optional({ ...ErrorDetailsSchema, description: 'More about the error' }),
        },
        { description: 'What went wrong' },
      ),
    },
    { title },
  );
}

const MEANINGS = {
  400: 'Invalid request, task id or media.',
  401: 'Missing, invalid, expired or revoked API key.',
  402: 'Insufficient paid credits.',
  404: 'This account has nothing with this id on this API surface.',
  409: 'The Idempotency-Key belongs to a different body.',
  413: 'The JSON body exceeds 64 KiB.',
  429: 'Per-key rate limit exceeded; see Retry-After.',
  503: 'Temporarily unavailable or uncertain. Retry only with the same Idempotency-Key.',
};

/** The schema of an error with one of these codes, named after them, such as NotFoundError. */
function errorWith(codes: string[]) {
  const words = codes.join('_').split('_');
  const name = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('');
  return errorEnvelopeSchema(codes, name.replace(/(Error)?$/, 'Error'));
}

export const ErrorSchema = errorEnvelopeSchema(
  [...Object.keys(MEANINGS), '405', '500']
    .flatMap((status) => errorCodesOf(Number(status)))
    .concat(OWN_ERROR_CODES),
  'Error',
);

export function errorResponses(...statuses: Array<keyof typeof MEANINGS>) {
  const responses = statuses.map((status) => {
    return [status, { description: MEANINGS[status], ...errorWith(errorCodesOf(status)) }];
  });
  return Object.fromEntries(responses);
}

/** A successful response, with an example of its body. */
export function shown(description: string, schema: TSchema, example: object) {
  return { description, ...schema, examples: [example] };
}

/** The 409 of an operation that has its own error code. */
export function conflictResponse(code: OwnErrorCode, description: string) {
  return { 409: { description, ...errorWith([code]) } };
}

/** A create's Idempotency-Key. The route checks it: a schema would do so after the fields (C7). */
export const IdempotencyKeyHeader = Type.Object({
  'idempotency-key': Type.String({
    ...KEY_SHAPE,
    title: 'IdempotencyKey',
    description: 'One per logical request. Reuse it only with an identical body.',
  }),
});

export const CreditBalanceSchema = Type.Object(
  {
    available_credits: Type.Integer({
      minimum: 0,
      description: 'Paid credits that the API can spend',
    }),
    balance_type: Type.Literal('paid', { description: 'Always paid' }),
  },
  { title: 'CreditBalance', examples: [{ available_credits: 10_000, balance_type: 'paid' }] },
);

export const EXAMPLE_TASK = {
  id: 'task_7Jp0Zk3uYb',
  status: 'completed',
  model: 'video-2.0-fast',
  mode: 'text-to-video',
  credits_used: 250,
  credits_refunded: 0,
  output: {
    video_url: 'https://video.example.com/media/obj_4Tq8.mp4?expires=1795430400&signature=a',
  },
  error: null,
  created_at: '2026-11-22T10:00:00.000Z',
  updated_at: '2026-11-22T10:01:30.000Z',
};

/** The same task just after its create. */
export const EXAMPLE_NEW_TASK = {
  ...EXAMPLE_TASK,
  status: 'processing',
  output: null,
  updated_at: EXAMPLE_TASK.created_at,
};
