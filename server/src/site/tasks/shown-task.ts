import { inputsOf, type RequestedInput } from '../../catalog/request.ts';
import type { TaskMovement } from '../../ledger/task-movements.ts';
import type { Links } from '../../storage/links.ts';
import type { TaskRecord } from '../../tasks/gallery/task-record.ts';
import type { Phase } from '../../tasks/task.ts';
import { adviceFor, CHARGES, HELD_WORDS, PHASE_LABELS } from './task-words.ts';
import { type VideoItem, videoItem } from './video-item.ts';

/** A file that the request names, and what became of it. */
export interface ShownInput {
  /** Of the request, such as `image_url`. */
  field: string;
  /** Of a list, from 0. */
  entry: number | null;
  url: string;
  /** `waiting`: not checked yet; `unused`: the task failed before it was. */
  verdict: 'accepted' | 'refused' | 'waiting' | 'unused';
  /** Why it was refused. */
  reason: string | null;
  media_type: string | null;
  width: number | null;
  height: number | null;
  /** As measured by decoding all of it. */
  duration_seconds: number | null;
  size_bytes: number | null;
}

interface ShownVideo {
  /** `deleted`: its retention is over, or an operator has removed it. */
  state: 'ready' | 'deleted';
  deletes_at: string | null;
  media_type: string;
  size_bytes: number | null;
  width: number;
  height: number;
  duration_seconds: number;
  frames: number;
  video_codec: string;
  audio_codec: string | null;
}

/** A task as its own account sees it on the website. Times are ISO 8601. */
export interface ShownTask extends VideoItem {
  phase: Phase;
  /** The request with its defaults filled in, as it may be sent again. */
  request: Record<string, unknown>;
  /** The seed that was used. */
  seed: number;
  idempotency_key: string;
  /** Of the create; null for tasks from before it was recorded. */
  request_id: string | null;
  timeline: { at: string; phase: string; label: string }[];
  movements: { at: string; kind: string; reason: string; credits: number }[];
  /** What became of the credits. */
  charge: 'reserved' | 'charged' | 'refunded';
  promotional_credits: number;
  /** What it means that the task is held. */
  held: string | null;
  failure: {
    code: string;
    message: string;
    details: Record<string, unknown> | null;
    /** What to do about it. */
    advice: string;
  } | null;
  inputs: ShownInput[];
  video: ShownVideo | null;
  /** The time of this view, by the clock of the other times. */
  now: string;
}

/** What the account may see of a task: nothing of its provider, its attempts and their evidence. */
export function shownTask(task: TaskRecord, movements: TaskMovement[], links: Links): ShownTask {
  const output = task.files.find(({ id }) => id === task.output_object_id);
  const item = videoItem(
    {
      ...task,
      is_archived: task.archived_at !== null,
      has_video: output?.state === 'ready',
      has_poster: task.files.some(({ role, state }) => role === 'poster' && state === 'ready'),
    },
    links,
  );
  const { error_code: code, error_message: message, error_details: details } = task;
  return {
    ...item,
    phase: task.phase,
    request: requestOf(task),
    seed: task.seed,
    idempotency_key: task.idempotency_key,
    request_id: task.request_id,
    timeline: timelineOf(task),
    movements: movements.map((movement) => ({ ...movement, at: movement.at.toISOString() })),
    charge: CHARGES[item.status],
    promotional_credits: task.promotional_credits,
    held: task.held_cause === null ? null : HELD_WORDS[task.held_cause],
    failure:
      code === null ? null : { code, message: message ?? '', details, advice: adviceFor(code) },
    inputs: inputsOf(task.request).map((input) => shownInput(task, input)),
    video: videoOf(task, output),
    now: new Date(task.now_seconds * 1000).toISOString(),
  };
}

/** Empty lists are left out: a mode that does not take them would refuse them. */
function requestOf({ request }: TaskRecord): Record<string, unknown> {
  const given = Object.entries(request);
  return Object.fromEntries(given.filter(([, value]) => !Array.isArray(value) || value.length > 0));
}

/** A task whose result can't be read is held and read again for days. */
const MAX_STEPS = 40;

function timelineOf({ created_at, history }: TaskRecord): ShownTask['timeline'] {
  const first = { at: created_at.toISOString(), phase: 'reserved', label: 'Received' };
  const steps = history.map(({ at, phase }) => {
    return { at: new Date(at).toISOString(), phase, label: PHASE_LABELS[phase] ?? phase };
  });
  return [first, ...steps.slice(-MAX_STEPS)];
}

function shownInput(task: TaskRecord, input: RequestedInput): ShownInput {
  const { field, entry, url } = input;
  const copied = task.inputs.find((one) => one.field === field && one.entry === entry);
  const refusal = refusalOfInput(task, input);
  const isPending = task.phase === 'reserved' || task.phase === 'ingesting';
  const unchecked = isPending ? 'waiting' : 'unused';
  return {
    field,
    entry,
    url,
    verdict: copied ? 'accepted' : refusal === null ? unchecked : 'refused',
    reason: refusal,
    media_type: copied?.mediaType ?? null,
    width: copied?.width ?? null,
    height: copied?.height ?? null,
    duration_seconds: copied?.durationSeconds ?? null,
    size_bytes: task.files.find(({ id }) => id === copied?.objectId)?.size_bytes ?? null,
  };
}

/** A task that failed with an older program has only the one refusal that its error is about. */
interface RefusedFiles {
  inputs?: { field: string; index?: number; message: string }[];
  field?: string;
  entry?: number;
}

/** Why this file was refused, in words; null if it was not. */
function refusalOfInput(task: TaskRecord, { field, entry }: RequestedInput): string | null {
  if (task.error_code !== 'invalid_media') return null;
  const { inputs, ...first }: RefusedFiles = task.error_details ?? {};
  const isFirst = first.field === field && (first.entry ?? null) === entry;
  if (isFirst) return task.error_message;
  const one = inputs?.find((one) => one.field === field && (one.index ?? null) === entry);
  return one?.message ?? null;
}

function videoOf(
  { phase, output_facts: facts }: TaskRecord,
  output: TaskRecord['files'][number] | undefined,
): ShownVideo | null {
  if (phase !== 'completed' || !facts) return null;
  const deletes = output?.delete_after ?? null;
  return {
    state: output?.state === 'ready' ? 'ready' : 'deleted',
    deletes_at: deletes === null ? null : new Date(deletes).toISOString(),
    media_type: facts.mediaType,
    size_bytes: output?.size_bytes ?? null,
    width: facts.width,
    height: facts.height,
    duration_seconds: facts.durationSeconds,
    frames: facts.frames,
    video_codec: facts.videoCodec,
    audio_codec: facts.audio?.codec ?? null,
  };
}
