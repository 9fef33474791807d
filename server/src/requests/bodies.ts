import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidRequest } from '../kernel/errors.ts';
import { parseBody } from '../tasks/create/fingerprint.ts';

export interface BodyReading {
  /** Larger bodies are refused with 413. */
  limitBytes: number;
  /** Turns the bytes into `request.body`. */
  parse(bytes: Buffer, request: FastifyRequest): unknown;
}

/**
 * Reads the bodies of a plugin's routes as bytes, whatever their content type, so that the size is
 * checked first. Fastify refuses a malformed content type before it checks the size, so a malformed
 * header is removed.
 */
export function readBodiesAsBytes(app: FastifyInstance, { limitBytes, parse }: BodyReading): void {
  app.removeAllContentTypeParsers();
  app.addHook('onRequest', (request, _reply, done) => {
    if (!request.mediaType) delete request.raw.headers['content-type'];
    done();
  });
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: limitBytes },
    async (request: FastifyRequest, bytes: Buffer) => {
      requirePlain(request.headers);
      return parse(bytes, request);
    },
  );
}

/** @throws ApiError `invalid_request` if a body is compressed */
export function requirePlain({
  'content-encoding': encoding = '',
}: FastifyRequest['headers']): void {
  if (/^(?:identity|[\s,])*$/i.test(encoding)) return;
  throw invalidRequest('Send the body as it is, without a Content-Encoding.', {
    field: 'Content-Encoding',
    reason: 'encoded_body',
  });
}

/** The largest JSON request body (contract, "Limits"). */
export const BODY_BYTES = 64 * 1024;

/** Refuses bodies that are not JSON by type or content, with 400 and never with 415 (C7). */
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
