import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../../kernel/errors.ts';
import { parseBody } from '../../tasks/create/fingerprint.ts';

/** Contract, "Limits": the JSON request body. */
export const BODY_BYTES = 64 * 1024;

/**
 * Reads every body as bytes first, so that one that is too large is 413 whatever it claims to be;
 * then it must be JSON, by its content type and by its bytes (400, never 415).
 */
export function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addHook('onRequest', async (request) => {
    // Fastify would refuse a type that it can't read before it has seen how large the body is.
    if (!request.mediaType) delete request.raw.headers['content-type'];
  });
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: BODY_BYTES },
    async (request: FastifyRequest, bytes: Buffer) => {
      requireJsonType(request.headers['content-type']);
      return parseBody(bytes);
    },
  );
}

/** @throws ApiError `invalid_request` unless the content type is application/json */
export function requireJsonType(contentType: string | undefined): void {
  if (/^application\/json\s*(;|$)/i.test(contentType ?? '')) return;
  throw new ApiError('invalid_request', 'Send the body as Content-Type: application/json.', {
    details: { field: 'Content-Type', reason: 'not_json' },
  });
}
