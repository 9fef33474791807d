import { inputsOf, type RequestedInput } from '../../catalog/request.ts';
import { type TaskMovement, taskMovements } from '../../ledger/statement.ts';
import { cancelForOwner, deleteOutputOf, type EndDeps } from '../../requests/end-task.ts';
import type { Links } from '../../storage/links.ts';
import { readTaskRecord, type TaskFile, type TaskRecord } from '../../tasks/account-tasks.ts';
import { type Credentials, publicColumns, readOwned, type Task } from '../../tasks/task.ts';
import { type AsJson, siteRoute } from '../route.ts';
import { noVideo, type ShowDeps, videoItem } from './gallery.ts';
import { adviceFor, CHARGES, HELD_WORDS, PHASE_LABELS } from './task-words.ts';

/** A task as the website shows it to its account. */
export type ShownTask = AsJson<ReturnType<typeof shownTask>>;
export type ShownInput = ShownTask['inputs'][number];

/** The parts of a task that its account may see: nothing of the provider, attempts or evidence. */
function shownTask(task: TaskRecord, movements: TaskMovement[], links: Links) {
  const output = task.files.find(({ id }) => id === task.output_object_id) ?? null;
  const item = videoItem(
    {
      ...task,
      output,
      has_poster: task.files.some(({ role, state }) => role === 'poster' && state === 'ready'),
    },
    links,
  );
  const { error_code: code, error_message: message, error_details: details } = task;
  return {
    ...item,
    phase: task.phase,
    // With defaults filled in, ready to be sent again.
    request: requestOf(task),
    idempotency_key: task.idempotency_key,
    // The id of the HTTP request that created it.
    request_id: task.request_id,
    timeline: timelineOf(task),
    movements,
    charge: CHARGES[item.status],
    promotional_credits: task.promotional_credits,
    held: task.held_cause === null ? null : HELD_WORDS[task.held_cause],
    failure:
      code === null
        ? null
        : { code, message: message ?? '', details, advice: adviceFor(code, cancellerOf(task)) },
    inputs: inputsOf(task.request).map((input) => shownInput(task, input)),
    video: videoOf(task, output, item.deleted === null),
    // The time of this view, by the same clock as the other times.
    now: new Date(task.now_seconds * 1000),
  };
}

function cancellerOf({ history }: TaskRecord) {
  return history.findLast(({ phase }) => phase === 'failed')?.cause?.cancelled_by;
}

/** Leaves out empty lists: a mode without these fields would refuse them. */
function requestOf({ request }: TaskRecord): Record<string, unknown> {
  const given = Object.entries(request);
  return Object.fromEntries(given.filter(([, value]) => !Array.isArray(value) || value.length > 0));
}

/** Limited because a held task's result may be retried for days. */
const MAX_STEPS = 40;

/** A task that goes to another connection stays in its phase, and its account sees one step. */
function timelineOf({ created_at, history }: TaskRecord) {
  const first = { at: created_at, phase: 'reserved', label: 'Received' };
  const moves = history.filter(({ phase }, i) => phase !== history[i - 1]?.phase);
  const steps = moves.map(({ at, phase }) => {
    return { at: new Date(at), phase, label: PHASE_LABELS[phase] ?? phase };
  });
  return [first, ...steps.slice(-MAX_STEPS)];
}

function shownInput(task: TaskRecord, input: RequestedInput) {
  const { field, entry, url } = input;
  const copied = task.inputs.find((input) => input.field === field && input.entry === entry);
  const refusal = refusalOfInput(task, input);
  const isPending = task.phase === 'reserved' || task.phase === 'ingesting';
  // `waiting`: not checked yet; `unused`: the task failed before it was checked.
  const unchecked = isPending ? ('waiting' as const) : ('unused' as const);
  const checked = copied ? ('accepted' as const) : ('refused' as const);
  return {
    // The request field, such as `image_url`; `entry`: index in a list, from 0.
    field,
    entry,
    url,
    verdict: copied || refusal !== null ? checked : unchecked,
    reason: refusal,
    media_type: copied?.mediaType ?? null,
    width: copied?.width ?? null,
    height: copied?.height ?? null,
    // Measured by decoding the whole file.
    duration_seconds: copied?.durationSeconds ?? null,
    size_bytes: task.files.find(({ id }) => id === copied?.objectId)?.size_bytes ?? null,
  };
}

/** The refused files; `field` and `entry` name the one in the task's error. */
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
  const refused = inputs?.find((input) => input.field === field && (input.index ?? null) === entry);
  return refused?.message ?? null;
}

/** What the video's Content Credentials say; null: it has none. */
function credentialsOf(credentials: Credentials | undefined, model: string) {
  if (credentials?.kind !== 'signed') return null;
  const { isModel, at } = credentials;
  return { made_by_ai: isModel, model, at: new Date(at) };
}

function videoOf(
  { phase, request, output_facts: facts }: TaskRecord,
  output: TaskFile | null,
  isThere: boolean,
) {
  if (phase !== 'completed' || !facts) return null;
  const { delete_after: deletes = null } = output ?? {};
  return {
    state: isThere ? ('ready' as const) : ('deleted' as const),
    deletes_at: deletes === null ? null : new Date(deletes),
    media_type: facts.mediaType,
    size_bytes: output?.size_bytes ?? null,
    width: facts.width,
    height: facts.height,
    duration_seconds: facts.durationSeconds,
    frames: facts.frames,
    video_codec: facts.videoCodec,
    audio_codec: facts.audio?.codec ?? null,
    credentials: credentialsOf(facts.credentials, request.model),
  };
}

/** @throws ApiError `not_found` when the account has no such task */
export async function readShownTask({ db, links }: ShowDeps, accountId: string, id: string) {
  const task = await readTaskRecord(db, accountId, id);
  if (!task) throw noVideo();
  return shownTask(task, await taskMovements(db, accountId, id), links);
}

const showTaskOfAccount = siteRoute('GET /console/api/tasks/:id', {
  handle: (deps: ShowDeps, { params, session: { accountId } }) =>
    readShownTask(deps, accountId, params.id),
});

const cancelTaskOfAccount = siteRoute('POST /console/api/tasks/:id/cancel', {
  handle: async (deps: EndDeps, { params, session: { accountId } }) => {
    const task = await ownTask(deps, accountId, params.id);
    const { cancel, refusal } = await cancelForOwner(deps, task);
    return { cancel, refusal };
  },
});

const deleteOutputOfAccount = siteRoute('DELETE /console/api/tasks/:id/output', {
  handle: async (deps: EndDeps, { params, session: { accountId } }) => {
    const task = await ownTask(deps, accountId, params.id);
    await deleteOutputOf(deps, publicColumns(task));
    return { deleted: true };
  },
});

async function ownTask({ db }: EndDeps, accountId: string, id: string): Promise<Task> {
  const task = await readOwned(db, id, accountId, null);
  if (!task) throw noVideo();
  return task;
}

export const TASK_ROUTES = [showTaskOfAccount, cancelTaskOfAccount, deleteOutputOfAccount];
