import type { FastifyRequest } from 'fastify';
import { ApiError } from '../../kernel/errors.ts';

const KEY_SHAPE = /^[a-zA-Z0-9._:-]{1,160}$/;

/** The Idempotency-Key of a request; undefined if it is missing or malformed. */
export function wellFormedKey({ headers }: Pick<FastifyRequest, 'headers'>): string | undefined {
  const key = keyOf(headers);
  return KEY_SHAPE.test(key) ? key : undefined;
}

function keyOf(headers: FastifyRequest['headers']): string {
  return String(headers['idempotency-key'] ?? '');
}

/** @throws ApiError `invalid_request` if it is missing or malformed */
export function requireIdempotencyKey(request: Pick<FastifyRequest, 'headers'>): string {
  const key = wellFormedKey(request);
  if (key !== undefined) return key;
  const message =
    'Send an Idempotency-Key of 1 to 160 characters from a-z, A-Z, 0-9, ".", "_", ":", "-".';
  const reason = keyOf(request.headers) === '' ? 'required' : 'malformed';
  return refuse(message, reason);
}

function refuse(message: string, reason: string): never {
  throw new ApiError('invalid_request', message, {
    details: { field: 'Idempotency-Key', reason },
  });
}
