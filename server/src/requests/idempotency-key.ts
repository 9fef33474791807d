import type { FastifyRequest } from 'fastify';
import { invalidRequest } from '../kernel/errors.ts';

/** The format of an Idempotency-Key, for schemas. */
export const KEY_SHAPE = { minLength: 1, maxLength: 160, pattern: '^[a-zA-Z0-9._:-]+$' };
const WELL_FORMED = new RegExp(KEY_SHAPE.pattern);

/** The Idempotency-Key of a request; undefined if it is missing or malformed. */
export function wellFormedKey({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  const key = keyOf(headers);
  return key.length <= KEY_SHAPE.maxLength && WELL_FORMED.test(key) ? key : undefined;
}

function keyOf(headers: FastifyRequest['headers']): string {
  return String(headers['idempotency-key'] ?? '');
}

/** @throws ApiError `invalid_request` if it is missing or malformed */
export function requireIdempotencyKey(request: Pick<FastifyRequest, 'headers'>): string {
  const key = wellFormedKey(request);
  if (key !== undefined) return key;
  const message =
    `Send an Idempotency-Key of ${KEY_SHAPE.minLength} to ${KEY_SHAPE.maxLength} characters from ` +
    'a-z, A-Z, 0-9, ".", "_", ":", "-".';
  const reason = keyOf(request.headers) === '' ? 'required' : 'malformed';
  return refuse(message, reason);
}

function refuse(message: string, reason: string): never {
  throw invalidRequest(message, { field: 'Idempotency-Key', reason });
}
