import { type TProperties, Type } from 'typebox';
import { VideoTaskSchema } from '../../requests/video-task.ts';
import { EVENT_TYPES, TEST_EVENT } from '../../webhooks/events.ts';

/** An event as an endpoint gets it (deliver.ts, in webhooks). */
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

/** The bodies of the POSTs to webhook endpoints. */
export const WebhookEventSchema = Type.Union(
  [
    eventSchema(
      EVENT_TYPES.filter((type) => type.startsWith('task.')),
      'TaskEvent',
      VideoTaskSchema,
    ),
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
