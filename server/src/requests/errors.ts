import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseUnavailable } from '../database/database.ts';
import {
  ApiError,
  type ErrorDetails,
  errorEnvelope,
  invalidRequest,
  type RatePolicy,
} from '../kernel/errors.ts';
import type { Log } from '../kernel/log.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';
import { brokenRule, refusedUrls, ruleSentence } from './refused-fields.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether this public API route creates tasks: its errors then say what was charged. */
    isCreate?: boolean;
  }
}

function sendError(reply: FastifyReply, error: ApiError): FastifyReply {
  const details = detailsOf(error, reply.request);
  const { policy, retryAfterSeconds: seconds } = error;
  if (seconds !== undefined) reply.header('retry-after', seconds);
  if (policy && seconds !== undefined) {
    reply.headers(rateLimitHeaders(policy, { remaining: 0, resetSeconds: seconds }));
  }
  if (error.code === 'unauthorized') reply.header('www-authenticate', 'Bearer');
  return reply
    .code(error.status)
    .type('application/json; charset=utf-8')
    .send(errorEnvelope(error.code, error.message, details));
}

function detailsOf(error: ApiError, request: FastifyRequest): ErrorDetails | undefined {
  const more = {
    ...(request.routeOptions.config.isCreate && consequenceOf(error)),
    ...(error.code === 'invalid_request' && refusedUrls(request)),
    // Keeps a test key's error from being mistaken for a live one.
    ...(request.caller?.surface === TEST_SURFACE && { test: true }),
  };
  return Object.keys(more).length === 0 ? error.details : { ...more, ...error.details };
}

/** Fastify's error handler: sends every error as an envelope, and logs those with status 5xx. */
export function handleError(
  error: FastifyError | ApiError | Error,
  { request, reply, log }: { request: FastifyRequest; reply: FastifyReply; log: Log },
): FastifyReply {
  const known = asApiError(error);
  closeIfLargeBodyIsUnread(request, reply);
  if (known.status >= 500 && known !== error) {
    log.error({ err: known.cause ?? error, request: request.id }, known.message);
  } else if (known.status >= 500) {
    log.warn({ err: known.cause, details: known.details, request: request.id }, known.message);
  }
  return sendError(reply, known);
}

/** An unread body up to this size is discarded, so that the connection can be reused. */
const DISCARDED_BYTES = 2 ** 20;

/** If the connection stayed open, Node would read all of a body of large or unknown length. */
function closeIfLargeBodyIsUnread({ headers, raw }: FastifyRequest, reply: FastifyReply): void {
  if (raw.complete) return;
  const isLarge = Number(headers['content-length'] ?? 0) > DISCARDED_BYTES;
  if (isLarge || headers['transfer-encoding'] !== undefined) reply.header('connection', 'close');
}

/** The error that the client gets. Its `cause` is logged, never sent. */
function asApiError(error: FastifyError | ApiError | Error): ApiError {
  if (error instanceof ApiError) return error;
  if ('validation' in error && error.validation) return fromValidation(error);
  if ('statusCode' in error && error.statusCode !== undefined && error.statusCode < 500) {
    return fromFramework(error);
  }
  if (isDatabaseUnavailable(error)) {
    const message =
      'Temporarily unavailable. Send the request again, with the same Idempotency-Key.';
    return new ApiError('service_busy', message, { cause: error, retryAfterSeconds: 1 });
  }
  const message = 'Internal error. If it persists, report the X-Request-Id of this response.';
  return new ApiError('internal_error', message, { cause: error });
}

function fromFramework(error: FastifyError): ApiError {
  if (error.statusCode === 413) {
    return new ApiError('payload_too_large', 'The JSON body exceeds 64 KiB.', { cause: error });
  }
  return malformed(error);
}

export function malformed(cause?: unknown): ApiError {
  const details = { field: 'request', reason: 'malformed' };
  return invalidRequest('The request is not valid HTTP.', details, cause);
}

export function noSuchPath(): ApiError {
  return new ApiError('not_found', 'This path does not exist.');
}

export function wrongMethod(allowed: string): ApiError {
  return new ApiError('method_not_allowed', `This path takes other methods: ${allowed}.`);
}

export function storageUnavailable(done: 'stored' | 'read', cause: unknown): ApiError {
  const message = `The file can not be ${done} at the moment. Try again in a few seconds.`;
  return new ApiError('service_busy', message, { retryAfterSeconds: 5, cause });
}

export function fileMissing(name: string): ApiError {
  return new ApiError(
    'file_missing',
    `The file ${name} is not in the storage of this service, although it should be. The operator ` +
      'was alerted, and may be able to restore it.',
  );
}

function fromValidation(error: FastifyError): ApiError {
  const [failed] = error.validation ?? [];
  if (!failed) return new ApiError('invalid_request', 'The request is not valid.');
  const { params, instancePath } = failed;
  const [name, entry] = instancePath.split('/').slice(1);
  const missing = params.missingProperty ?? params.additionalProperty;
  const field = String(name ?? missing ?? 'body');
  const where = entry === undefined ? field : `${field}[${entry}]`;
  const place = entry === undefined ? { field } : { field, entry: Number(entry) };
  return invalidRequest(ruleSentence(where, failed), { ...place, ...brokenRule(failed) });
}

/**
 * The headers of draft-ietf-httpapi-ratelimit-headers. `t` is the time until the oldest request
 * leaves the sliding window: until then exactly `remaining` requests pass.
 */
export function rateLimitHeaders(
  { name, max, seconds }: RatePolicy,
  { remaining, resetSeconds }: { remaining: number; resetSeconds: number },
) {
  return {
    ratelimit: `"${name}";r=${remaining};t=${resetSeconds}`,
    'ratelimit-policy': `"${name}";q=${max};w=${seconds}`,
  };
}

/** What an error of a create means for its credits, and how to retry. */
interface Consequence {
  code: ApiError['code'];
  /** Which errors of this code; undefined: all others. */
  when?: 'task_id' | 'not_taken' | 'account_paused' | 'refunded' | undefined;
  /** `reserved` also if it is unknown whether the credits were reserved. */
  charged: 'no' | 'reserved' | 'refunded';
  /** The Idempotency-Key for a retry with the same body. `never`: this body can't succeed. */
  retry: 'same_key' | 'new_key' | 'never';
}

/**
 * All errors of a create; docs/customers/ERRORS.md has the same table. The first matching row wins.
 */
export const CREATE_ERRORS: readonly Consequence[] = [
  { code: 'invalid_request', when: 'task_id', charged: 'refunded', retry: 'new_key' },
  { code: 'invalid_request', charged: 'no', retry: 'never' },
  { code: 'unauthorized', charged: 'no', retry: 'same_key' },
  { code: 'insufficient_credits', charged: 'no', retry: 'same_key' },
  { code: 'idempotency_conflict', charged: 'no', retry: 'new_key' },
  { code: 'payload_too_large', charged: 'no', retry: 'never' },
  { code: 'rate_limited', charged: 'no', retry: 'same_key' },
  { code: 'internal_error', charged: 'no', retry: 'same_key' },
  { code: 'service_busy', when: 'refunded', charged: 'refunded', retry: 'same_key' },
  { code: 'service_busy', when: 'not_taken', charged: 'no', retry: 'same_key' },
  { code: 'service_busy', when: 'account_paused', charged: 'no', retry: 'same_key' },
  { code: 'service_busy', charged: 'reserved', retry: 'same_key' },
];

/** The members that a create adds to an error's `details`. */
export function consequenceOf({ code, details = {} }: ApiError): object {
  const fits = (when: Consequence['when']) => {
    if (when === 'task_id') return details.task_id !== undefined;
    if (when === 'not_taken' || when === 'account_paused') return details.reason === when;
    return when === undefined || details.credits === when;
  };
  const row = CREATE_ERRORS.find((known) => known.code === code && fits(known.when));
  return row === undefined ? {} : { charged: row.charged, retry: row.retry };
}
