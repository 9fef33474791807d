import assert from 'node:assert/strict';
import type { ApiResponse } from './deployment.ts';

const STATUS: Record<string, number> = {
  unauthorized: 401,
  invalid_request: 400,
  insufficient_credits: 402,
  not_found: 404,
  method_not_allowed: 405,
  idempotency_conflict: 409,
  payload_too_large: 413,
  rate_limited: 429,
  service_busy: 503,
  internal_error: 500,
};

/** Asserts the contract's error envelope with this code, its status, and the headers that go with it. */
export function assertError(response: ApiResponse, code: string, field?: string): void {
  const { status, headers, body } = response;
  assert.equal(body?.error?.code, code, JSON.stringify(body));
  assert.equal(status, STATUS[code]);
  assert.deepEqual(Object.keys(body), ['error']);
  const { message, details, ...rest } = body.error;
  assert.deepEqual(rest, { code });
  assert.ok(typeof message === 'string' && message !== '');
  if (details !== undefined) assert.ok(typeof details === 'object' && !Array.isArray(details));
  if (field !== undefined) assert.equal(details?.field, field, JSON.stringify(body));
  assertCommonHeaders(response);
  if (status === 401) assert.match(headers.get('www-authenticate') ?? '', /^Bearer\b/);
  if (status === 429) assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
}

/** Asserts the headers that every response of the API has. */
export function assertCommonHeaders({ headers }: ApiResponse): void {
  assert.match(headers.get('content-type') ?? '', /^application\/json\b/);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.match(headers.get('x-request-id') ?? '', /^\S+$/);
}

const FIELDS = [
  ...['created_at', 'credits_refunded', 'credits_used', 'error', 'id', 'mode', 'model', 'output'],
  ...['status', 'updated_at'],
];

/** Asserts that the body is a complete VideoTask whose fields agree with its status. */
export function assertVideoTask(response: ApiResponse): void {
  const task = response.body;
  assert.deepEqual(Object.keys(task).sort(), FIELDS, JSON.stringify(task));
  assert.ok(typeof task.id === 'string' && task.id.length > 0 && task.id.length <= 120);
  assert.ok(['processing', 'completed', 'failed'].includes(task.status));
  assert.ok(['video-2.0', 'video-2.0-fast', 'video-2.0-mini'].includes(task.model));
  assert.ok(['text-to-video', 'image-to-video', 'media-to-video'].includes(task.mode));
  for (const credits of [task.credits_used, task.credits_refunded]) {
    assert.ok(Number.isInteger(credits) && credits >= 0);
  }
  for (const time of [task.created_at, task.updated_at]) {
    assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);
  }
  assert.equal(task.output !== null, task.status === 'completed');
  assert.equal(task.error !== null, task.status === 'failed');
  if (task.output !== null) assert.deepEqual(Object.keys(task.output), ['video_url']);
  if (task.error !== null) assert.deepEqual(Object.keys(task.error).sort(), ['code', 'message']);
  assert.equal(task.credits_refunded, task.status === 'failed' ? task.credits_used : 0);
  assertCommonHeaders(response);
}
