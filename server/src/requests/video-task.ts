import { type Static, Type } from 'typebox';
import { modelSchema } from '../catalog/model-schema.ts';
import { MODES } from '../catalog/models.ts';
import type { Links } from '../storage/links.ts';
import { FAILURE_CODES, type PublicColumns } from '../tasks/task.ts';

// No unions here: the serializer checks a union before each response, which takes time, and fails
// with a 500 on a code that only a newer process knows. It does not check an enum.
const Timestamp = (description: string) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time', description });

const OutputSchema = Type.Unsafe<{ video_url: string } | null>({
  description: 'null until the task is completed',
  type: ['object', 'null'],
  required: ['video_url'],
  properties: {
    video_url: Type.String({
      format: 'uri',
      description:
        'A link that needs no API key and expires. Each read of the task makes a new one',
    }),
  },
});

const FailureSchema = Type.Unsafe<{ code: string; message: string } | null>({
  description: 'null unless the task failed; then its credits are refunded',
  type: ['object', 'null'],
  required: ['code', 'message'],
  properties: {
    code: Type.String({
      enum: FAILURE_CODES,
      description: 'Each is explained at /docs/errors#failed-tasks',
    }),
    message: Type.String({ description: 'A sentence for people' }),
  },
});

/** A task as customers see it (docs/customers/api.md). */
export const VideoTaskSchema = Type.Object(
  {
    id: Type.String({ description: 'At most 120 characters' }),
    status: Type.Enum(['processing', 'completed', 'failed'], {
      description: 'completed and failed are final',
    }),
    model: modelSchema({ description: 'The model of the request' }),
    mode: Type.Enum(MODES, { description: 'The mode of the request' }),
    credits_used: Type.Integer({ minimum: 0, description: 'Credits charged for the task' }),
    credits_refunded: Type.Integer({ minimum: 0, description: 'Credits returned to the balance' }),
    output: OutputSchema,
    error: FailureSchema,
    created_at: Timestamp('When the task was created'),
    updated_at: Timestamp('When the task last changed'),
  },
  { title: 'VideoTask' },
);

export type VideoTask = Static<typeof VideoTaskSchema>;

/**
 * A task as clients see it. A held task is shown as `processing` (C15), and a refund only by
 * `credits_refunded` (C19).
 */
export function videoTask(task: PublicColumns, links: Links): VideoTask {
  const { phase, output_object_id: objectId } = task;
  const ended = phase === 'completed' || phase === 'failed';
  const failure = { code: task.error_code ?? '', message: task.error_message ?? '' };
  return {
    id: task.id,
    status: ended ? phase : 'processing',
    model: task.model,
    mode: task.mode,
    credits_used: task.credits,
    credits_refunded: phase === 'failed' ? task.credits : 0,
    output: objectId === null ? null : { video_url: links.linkTo(objectId, task.now_seconds) },
    error: phase === 'failed' ? failure : null,
    created_at: task.created_at.toISOString(),
    updated_at: task.updated_at.toISOString(),
  };
}
