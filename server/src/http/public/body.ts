import type { FastifyInstance } from 'fastify';
import { ApiError } from '../../kernel/errors.ts';
import { parseBody } from '../../tasks/create/fingerprint.ts';
import { readBodiesAsBytes } from '../body-bytes.ts';

/** Contract, "Limits": the JSON request body. */
const BODY_BYTES = 64 * 1024;

/** Bodies must be JSON, by their content type and by their bytes: 400, never 415 (C7). */
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
  throw new ApiError('invalid_request', 'Send the body with Content-Type: application/json.', {
    details: { field: 'Content-Type', reason: 'not_json' },
  });
}
