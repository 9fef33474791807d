import assert from 'node:assert/strict';
import { ERROR_STATUS } from '../src/kernel/errors.ts';

/** The parts of a response that {@link assertError} checks. */
export interface ErrorResponse {
  status: number;
  headers: Record<string, unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  body: any;
}

/** That these are the published ones is shown by `error-catalogue.test.ts`. */
const STATUS: Record<string, number> = ERROR_STATUS;

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
