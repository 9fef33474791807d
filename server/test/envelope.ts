import assert from 'node:assert/strict';

/** The parts of a response that {@link assertError} checks. */
export interface ErrorResponse {
  status: number;
  headers: Record<string, unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
}

const STATUS: Record<string, number> = {
  unauthorized: 401,
  invalid_request: 400,
  insufficient_credits: 402,
  not_found: 404,
  method_not_allowed: 405,
  idempotency_conflict: 409,
  not_cancellable: 409,
  no_output: 409,
  upload_in_use: 409,
  payload_too_large: 413,
  rate_limited: 429,
  service_busy: 503,
  internal_error: 500,
  link_invalid: 403,
  link_expired: 410,
  output_deleted: 410,
  file_missing: 410,
  range_not_satisfiable: 416,
  cross_site: 403,
  sign_in_failed: 403,
  proof_required: 403,
  account_disabled: 403,
};

/**
 * Asserts that a response is exactly this error: status, envelope without other members, and
 * headers. Only the given members of `details` are compared.
 */
export function assertError(
  response: ErrorResponse,
  code: string,
  details: Record<string, unknown> = {},
): void {
  const { status, headers, body } = response;
  assert.equal(body?.error?.code, code, JSON.stringify(body));
  assert.equal(status, STATUS[code]);
  assert.deepEqual(Object.keys(body), ['error']);
  const { message, details: given, ...rest } = body.error;
  assert.deepEqual(rest, { code });
  assert.match(message, /^\S.+\S$/);
  assert.partialDeepStrictEqual(given ?? {}, details);
  if (code === 'invalid_request')
    assert.equal(typeof given?.field, 'string', 'details must name the field');
  assert.match(String(headers['content-type']), /^application\/json; charset=utf-8$/);
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.match(String(headers['x-request-id']), /^req_\w+$/);
  assert.equal(headers['www-authenticate'], code === 'unauthorized' ? 'Bearer' : undefined);
  const isTimed = status === 429 || status === 503;
  assert.match(String(headers['retry-after']), isTimed ? /^[1-9]\d*$/ : /^undefined$/);
}
