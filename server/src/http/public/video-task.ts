import { type Static, Type } from 'typebox';
import { MODELS, MODES } from '../../catalog/models.ts';
import type { Links } from '../../storage/links.ts';
import { FAILURE_CODES, type PublicColumns } from '../../tasks/task.ts';

// None of these is a union, because a union is checked before each response is sent. That takes
// time, and with a code that only a newer process knows, the whole response would become a 500.
const Timestamp = Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' });

const OutputSchema = Type.Unsafe<{ video_url: string } | null>({
  type: ['object', 'null'],
  required: ['video_url'],
  properties: { video_url: Type.String({ format: 'uri' }) },
});

const FailureSchema = Type.Unsafe<{ code: string; message: string } | null>({
  type: ['object', 'null'],
  required: ['code', 'message'],
  properties: { code: Type.String({ enum: FAILURE_CODES }), message: Type.String() },
});

/** VideoTask (contract, "Resources and their fields"). */
export const VideoTaskSchema = Type.Object({
  id: Type.String(),
  status: Type.Enum(['processing', 'completed', 'failed']),
  model: Type.Enum(MODELS),
  mode: Type.Enum(MODES),
  credits_used: Type.Integer({ minimum: 0, description: 'Credits charged for the task' }),
  credits_refunded: Type.Integer({ minimum: 0, description: 'Credits returned to the balance' }),
  output: OutputSchema,
  error: FailureSchema,
  created_at: Timestamp,
  updated_at: Timestamp,
});

export type VideoTask = Static<typeof VideoTaskSchema>;

/**
 * A task as clients see it. A held task is `processing` (C15). A refund does not change
 * `credits_used`: it is shown in `credits_refunded` (C19). Each read makes a new delivery link.
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
