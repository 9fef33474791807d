import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { truncate } from '../kit/outcomes.ts';
import type { JobStatus } from '../provider.ts';
import { videoAmong } from './outputs.ts';
import { type ComfyuiServer, unexpectedResponse } from './server.ts';

/** `GET /api/jobs/{id}`, only the fields that are read. */
const JobSchema = Type.Object({
  id: Type.String(),
  status: Type.String(),
  outputs: Type.Optional(Type.Unknown()),
  execution_error: Type.Optional(Type.Unknown()),
});

/** `{"error": "Job not found"}`; the response for a route that does not exist is plain text. */
const NotFoundSchema = Type.Object({ error: Type.String() });

const ErrorSchema = Type.Object({
  exception_type: Type.Optional(Type.String()),
  exception_message: Type.Optional(Type.String()),
  node_type: Type.Optional(Type.String()),
});

/** @throws ServerError when the server gives no usable response, or is too old for `/api/jobs` */
export async function readPrompt(server: ComfyuiServer, id: string): Promise<JobStatus> {
  const path = `/api/jobs/${encodeURIComponent(id)}`;
  const { status, body } = await server.api.get(server.baseUrl + path);
  if (status === 404 && Value.Check(NotFoundSchema, body)) return { kind: 'missing' };
  const found = status === 200 ? statusOfJob(body, id) : undefined;
  if (found) return found;
  throw unexpectedResponse(path, status);
}

/**
 * The status of a job in a response of `/api/jobs/{id}`; undefined if the body is not in that
 * format or is about another job. Unknown statuses count as working.
 * Source: ComfyUI `comfy_execution/jobs.py`, `JobStatus`.
 */
export function statusOfJob(body: unknown, id: string): JobStatus | undefined {
  if (!Value.Check(JobSchema, body) || body.id !== id) return undefined;
  switch (body.status) {
    case 'completed': {
      const output = videoAmong(body.outputs, id);
      return output ? { kind: 'succeeded', output } : failureOf('the workflow saved no video');
    }
    case 'failed':
      return failureOf(causeOf(body.execution_error));
    case 'cancelled':
      return failureOf('interrupted at the server');
    default:
      return { kind: 'working' };
  }
}

/** Not billed: the server is the operator's own. */
function failureOf(cause: string): JobStatus {
  const message = 'The provider could not make this video.';
  return { kind: 'failed', code: 'provider_failed', message, cause, billed: false };
}

function causeOf(error: unknown): string {
  if (!Value.Check(ErrorSchema, error)) return 'no reason given';
  const { exception_type: type = 'error', exception_message: message = '', node_type } = error;
  const node = node_type === undefined ? '' : ` (${node_type})`;
  return truncate(`${type}: ${message.trim()}${node}`);
}
