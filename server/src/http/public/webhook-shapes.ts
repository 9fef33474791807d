import { type TProperties, Type } from 'typebox';
import { VideoTaskSchema } from '../../requests/video-task.ts';
import { WEBHOOK_FIELDS } from '../../requests/webhook-requests.ts';
import { EVENT_TYPES, TASK_EVENT_TYPES, TEST_EVENT } from '../../webhooks/events.ts';

const Nullable = (description: string, format?: 'date-time' | 'uri') =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], ...(format && { format }), description });
const Time = (description: string) => Nullable(description, 'date-time');

const WEBHOOK = {
  id: Type.String({ description: 'The id of the endpoint' }),
  mode: Type.Enum(['live', 'test'], { description: 'Whether it gets live or test events' }),
  url: Nullable('Where events are sent; null: they are only kept in the log', 'uri'),
  description: Nullable('What its owner calls it'),
  events: Type.Array(Type.Enum([...EVENT_TYPES]), { description: 'The events that it gets' }),
  created_at: Time('When it was made'),
  disabled_at: Time('When deliveries to it stopped; null: it is enabled'),
  disabled_because: Nullable(
    'owner: it was disabled. gone: it responded 410. failing: every delivery failed for five days',
  ),
  failing_since: Time('Since when every delivery fails; null: the last one arrived'),
  earlier_secret_until: Time('Until when the previous secret signs too'),
};

export const WebhookSchema = Type.Object(WEBHOOK, { title: 'WebhookEndpoint' });

const SECRET = {
  secret: Type.String({
    pattern: '^whsec_[A-Za-z0-9+/=]+$',
    description: 'The secret that signs the deliveries. It is shown only in this response.',
  }),
};

export const WebhookWithSecretSchema = Type.Object(
  { ...WEBHOOK, ...SECRET },
  { title: 'WebhookEndpointWithSecret' },
);

export const WebhookListSchema = Type.Object(
  { data: Type.Array(WebhookSchema, { description: 'The oldest first' }) },
  { title: 'WebhookEndpointList' },
);

const AttemptSchema = Type.Object(
  {
    at: Time('When it began'),
    duration_ms: Type.Integer({ minimum: 0, description: 'Milliseconds until the response' }),
    status: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: 'The HTTP status; null without a response',
    }),
    cause: Nullable('Why there was no response'),
    response: Nullable('The first KiB of the body of the response'),
  },
  { title: 'WebhookAttempt' },
);

const DeliverySchema = Type.Object(
  {
    event_id: Type.String({ description: 'The same in each try, and in the header webhook-id' }),
    type: Type.String({ description: 'The type of the event, such as task.completed' }),
    task_id: Nullable('The task that the event is about'),
    data: Type.Unsafe<object | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'What the event says; null: it is about a task, whose state each try reads anew',
    }),
    created_at: Time('When it happened'),
    state: Type.Enum(['waiting', 'delivered', 'failed', 'logged'], {
      description:
        'failed: no further try is made. logged: the endpoint had no URL, so nothing is sent',
    }),
    next_attempt_at: Time('When it is sent next; null: no further tries'),
    attempts: Type.Array(AttemptSchema, { description: 'The oldest first' }),
  },
  { title: 'WebhookDelivery' },
);

export const DeliveryListSchema = Type.Object(
  {
    data: Type.Array(DeliverySchema, { description: 'The newest event first' }),
    next_cursor: Nullable('Send it as cursor for the next page; null: there are no more'),
  },
  { title: 'WebhookDeliveryList' },
);

/** The body that changes an endpoint: omitted members stay as they are. */
export const UpdateBodySchema = Type.Object(
  {
    url: Type.Optional(WEBHOOK_FIELDS.url),
    events: Type.Optional(WEBHOOK_FIELDS.events),
    description: Type.Optional(WEBHOOK_FIELDS.description),
    enabled: Type.Optional(Type.Boolean({ description: 'true also forgets earlier failures' })),
  },
  {
    title: 'WebhookEndpointChanges',
    additionalProperties: false,
    minProperties: 1,
    examples: [{ enabled: true }],
  },
);

export const EXAMPLE_WEBHOOK = {
  id: 'we_0VGq3v9x7Zk3fQ2mR8yT1bNc',
  mode: 'live',
  url: 'https://example.com/framewright',
  description: null,
  events: ['task.completed', 'task.failed'],
  created_at: '2026-11-22T10:00:00.000Z',
  disabled_at: null,
  disabled_because: null,
  failing_since: null,
  earlier_secret_until: null,
};

export const EXAMPLE_SECRET = { secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' };

export const EXAMPLE_DELIVERY = {
  event_id: 'evt_8f14e45fceea467a9d6c4a5b1c2d3e4f',
  type: 'task.completed',
  task_id: 'task_0VGq3v9x7Zk3fQ2mR8yT1bNc',
  data: null,
  created_at: '2026-11-22T10:01:07.000Z',
  state: 'delivered',
  next_attempt_at: null,
  attempts: [
    { at: '2026-11-22T10:01:07.400Z', duration_ms: 84, status: 204, cause: null, response: '' },
  ],
};

/** An event as sent to an endpoint (see deliver.ts, in webhooks). */
function eventSchema(types: readonly string[], title: string, data: TProperties[string]) {
  return Type.Object(
    {
      type: Type.Enum([...types], { description: 'What happened' }),
      timestamp: Type.String({ format: 'date-time', description: 'When it happened' }),
      mode: Type.Enum(['live', 'test'], { description: 'Whether it is about a test task' }),
      data: { ...data, description: 'As it is when the event is sent' },
    },
    { title },
  );
}

const Count = (description: string) => Type.Integer({ minimum: 0, description });

export const WebhookEventSchema = Type.Union(
  [
    eventSchema(TASK_EVENT_TYPES, 'TaskEvent', VideoTaskSchema),
    eventSchema(
      ['credits.low'],
      'CreditsLowEvent',
      Type.Object({
        available_credits: Count('Paid credits'),
        below_credits: Count('The limit of the account: they have fallen below it'),
      }),
    ),
    eventSchema(
      [TEST_EVENT],
      'TestEvent',
      Type.Object({ message: Type.String({ description: 'A sentence for people' }) }),
    ),
  ],
  { title: 'WebhookEvent' },
);
