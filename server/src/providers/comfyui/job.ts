import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { truncate } from '../kit/outcomes.ts';
import type { JobStatus } from '../provider.ts';
import { videoAmong } from './outputs.ts';

/** `GET /api/jobs/{id}`, only the fields that are read. */
const JobSchema = Type.Object({
  id: Type.String(),
  status: Type.String(),
  outputs: Type.Optional(Type.Unknown()),
  execution_error: Type.Optional(Type.Unknown()),
});

const StatusSchema = Type.Object({
  status_str: Type.String(),
  messages: Type.Optional(Type.Array(Type.Unknown())),
});

/** `GET /history/{id}`: a map, empty if the id is unknown. */
const HistorySchema = Type.Record(
  Type.String(),
  Type.Object({
    outputs: Type.Optional(Type.Unknown()),
    status: Type.Optional(Type.Union([StatusSchema, Type.Null()])),
  }),
);

/** `GET /queue`: tuples of number, prompt id, graph, extra data, outputs. */
const QueueSchema = Type.Object({
  queue_running: Type.Array(Type.Array(Type.Unknown())),
  queue_pending: Type.Array(Type.Array(Type.Unknown())),
});

const ErrorSchema = Type.Object({
  exception_type: Type.Optional(Type.String()),
  exception_message: Type.Optional(Type.String()),
  node_type: Type.Optional(Type.String()),
});

/**
 * The status of a job in a response of `/api/jobs/{id}`; undefined if the body is not in that
 * format or is about another job. Unknown statuses count as working.
 * Source: ComfyUI `comfy_execution/jobs.py`, `JobStatus`.
 */
export function statusOfJob(body: unknown, id: string): JobStatus | undefined {
  if (!Value.Check(JobSchema, body) || body.id !== id) return undefined;
  switch (body.status) {
    case 'completed':
      return succeeded(id, body.outputs);
    case 'failed':
      return failed(causeOf(body.execution_error));
    case 'cancelled':
      return failed('interrupted at the server');
    default:
      return { kind: 'working' };
  }
}

/**
 * The status of a job in a response of `/history/{id}`: `missing` if the job is not in it,
 * undefined if the body is not in that format. An entry without a status succeeded
 * (`comfy_execution/jobs.py`, `normalize_history_item`).
 */
export function statusOfHistory(body: unknown, id: string): JobStatus | undefined {
  if (!Value.Check(HistorySchema, body)) return undefined;
  const entry = body[id];
  if (!entry) return { kind: 'missing' };
  const { status } = entry;
  switch (status?.status_str) {
    case undefined:
    case 'success':
      return succeeded(id, entry.outputs);
    case 'error':
      return failed(causeIn(status?.messages ?? []));
    default:
      return { kind: 'working' };
  }
}

/** By a response of `/queue`; undefined if the body is not in that format. */
export function isQueued(body: unknown, id: string): boolean | undefined {
  if (!Value.Check(QueueSchema, body)) return undefined;
  return [...body.queue_running, ...body.queue_pending].some(([, promptId]) => promptId === id);
}

function succeeded(id: string, outputs: unknown): JobStatus {
  const output = videoAmong(outputs, id);
  return output ? { kind: 'succeeded', output } : failed('the workflow saved no video');
}

/** Not billed: the server is the operator's own. */
function failed(cause: string): JobStatus {
  const message = 'The provider could not make this video.';
  return { kind: 'failed', code: 'provider_failed', message, cause, billed: false };
}

/** The cause in a history entry's messages, which are pairs of an event's name and its details. */
function causeIn(messages: unknown[]): string {
  for (const message of messages) {
    const [event, detail] = Array.isArray(message) ? message : [];
    if (event === 'execution_interrupted') return 'interrupted at the server';
    if (event === 'execution_error') return causeOf(detail);
  }
  return 'no reason given';
}

const MAX_CHARACTERS = 500;

function causeOf(error: unknown): string {
  if (!Value.Check(ErrorSchema, error)) return 'no reason given';
  return truncate(textOf(error), MAX_CHARACTERS);
}

function textOf(error: Static<typeof ErrorSchema>): string {
  const { exception_type: type = 'error', exception_message: message = '', node_type } = error;
  return `${type}: ${message.trim()}${node_type === undefined ? '' : ` (${node_type})`}`;
}
