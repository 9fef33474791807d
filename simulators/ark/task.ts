import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { quirk } from '../kit/faults.ts';
import type { OutputSpec } from '../kit/outputs.ts';
import { JOB_FIELDS } from '../kit/record.ts';
import { RATIOS, RESOLUTIONS, seedanceSize } from '../kit/seedance-sizes.ts';
import { stageOf, strangeWord } from '../kit/stage.ts';
import { arkError } from './errors.ts';

const CLOSED = { additionalProperties: false };
const Link = Type.Object({ url: Type.String() }, CLOSED);
const IMAGE_ROLES = ['first_frame', 'last_frame', 'reference_image'];
const Content = Type.Union([
  Type.Object({ type: Type.Literal('text'), text: Type.String() }, CLOSED),
  Type.Object(
    { type: Type.Literal('image_url'), image_url: Link, role: Type.Enum(IMAGE_ROLES) },
    CLOSED,
  ),
  Type.Object(
    { type: Type.Literal('video_url'), video_url: Link, role: Type.Literal('reference_video') },
    CLOSED,
  ),
]);

const SETTINGS = {
  resolution: Type.Enum([...RESOLUTIONS]),
  ratio: Type.Enum([...RATIOS]),
  duration: Type.Integer({ minimum: 4, maximum: 15 }),
  generate_audio: Type.Boolean(),
};

/** The body of a create for the 2.0 series, checked as strictly as Ark documents. */
export const CreateSchema = Type.Object(
  {
    model: Type.String(),
    content: Type.Array(Content),
    ...SETTINGS,
    watermark: Type.Optional(Type.Boolean()),
    callback_url: Type.Optional(Type.String({ maxLength: 2048 })),
    safety_identifier: Type.Optional(Type.String({ maxLength: 64 })),
  },
  CLOSED,
);
export type CreateBody = Static<typeof CreateSchema>;

const ArkTaskSchema = Type.Object({
  ...JOB_FIELDS,
  ...SETTINGS,
  model: Type.String(),
  content: Type.Array(Content),
  safetyIdentifier: Type.Union([Type.String(), Type.Null()]),
  /** Whether the task is shown with its `safety_identifier`. */
  showsMark: Type.Boolean(),
  /** Set by a DELETE of a task that had ended: it ran, but no call returns it any more. */
  isDeleted: Type.Boolean(),
});
export type ArkTask = Static<typeof ArkTaskSchema>;

export function parseTask(value: unknown): ArkTask {
  return Value.Parse(ArkTaskSchema, value);
}

/** The current status of a task. */
export function wordOf(task: ArkTask, jobSeconds: number): string {
  return task.forcedStatus ?? strangeWord(task) ?? stageOf(task, jobSeconds);
}

/** Whether GET, LIST and DELETE find the task: for 7 days, unless it vanished or was deleted. */
export function isKnown(task: ArkTask): boolean {
  const ageSeconds = (Date.now() - task.createdAt) / 1000;
  return !task.isDeleted && !quirk(task, 'vanishes') && ageSeconds < 7 * 86_400;
}

/** A task as GET, LIST and callbacks show it, without its prompt and inputs. */
export function shownTask(task: ArkTask, status: string, video_url: string) {
  const fault = status === 'failed' ? (quirk(task, 'fails') ?? {}) : undefined;
  const isDone = status === 'succeeded';
  const isMarked = task.showsMark && task.safetyIdentifier !== null;
  return {
    id: task.id,
    model: task.model,
    status,
    error: fault ? arkError({ code: 'InternalServiceError', ...fault }) : null,
    ...(isDone ? { content: { video_url } } : {}),
    ...(isDone ? { usage: { completion_tokens: 108_900, total_tokens: 108_900 } } : {}),
    created_at: Math.floor(task.createdAt / 1000),
    updated_at: Math.floor(Date.now() / 1000),
    resolution: task.resolution,
    ratio: task.ratio,
    duration: task.duration,
    framespersecond: 24,
    generate_audio: task.generate_audio,
    ...(isMarked ? { safety_identifier: task.safetyIdentifier } : {}),
    service_tier: 'default',
    execution_expires_after: 172_800,
  };
}

export function outputSpecOf(task: ArkTask): OutputSpec {
  const { width, height } = seedanceSize(task.resolution, task.ratio);
  return { width, height, seconds: task.duration, audio: task.generate_audio };
}
