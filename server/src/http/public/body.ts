import type { FastifyInstance } from 'fastify';
import { invalidRequest } from '../../kernel/errors.ts';
import { parseBody } from '../../tasks/create/fingerprint.ts';
import { readBodiesAsBytes } from '../body-bytes.ts';

/** The largest JSON request body (contract, "Limits"). */
export const BODY_BYTES = 64 * 1024;

/** Refuses a body whose content type or bytes are not JSON, with 400 and never with 415 (C7). */
export function acceptJsonOnly(api: FastifyInstance): void {
  readBodiesAsBytes(api, {
    limitBytes: BODY_BYTES,
    parse(bytes, request) {
      requireJsonType(request.headers['content-type']);
      return parseBody(bytes);
    },
  });
}

/** @throws ApiError `invalid_request` unless the content type is application/json */
export function requireJsonType(contentType: string | undefined): void {
  if (/^application\/json\s*(;|$)/i.test(contentType ?? '')) return;
  throw invalidRequest('Send the body with Content-Type: application/json.', {
    field: 'Content-Type',
    reason: 'not_json',
  });
}
