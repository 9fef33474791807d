import { createHash } from 'node:crypto';
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError, invalidRequest } from '../kernel/errors.ts';

/**
 * Reads the bodies of a plugin's routes as bytes, whatever their content type, so that the size is
 * checked first. Fastify refuses a malformed content type earlier, so such a header is removed.
 */
function readBodiesAsBytes(
  app: FastifyInstance,
  limitBytes: number,
  parse: (bytes: Buffer, request: FastifyRequest) => unknown,
): void {
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
  readBodiesAsBytes(api, BODY_BYTES, (bytes, request) => {
    requireJsonType(request.headers['content-type']);
    return parseBody(bytes);
  });
}

/** Takes bodies of up to 1 MiB as bytes, whatever their content type. */
export function acceptBytes(scope: FastifyInstance, what: string): void {
  readBodiesAsBytes(scope, 2 ** 20, (bytes) => bytes);
  scope.setErrorHandler((error: FastifyError) => {
    if (error.statusCode !== 413) throw error; // to the error handler of the app
    throw new ApiError('payload_too_large', `The ${what} exceeds 1 MiB.`, { cause: error });
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

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const MAX_DEPTH = 32; // C5

/** A field of the body, with the index if it is a list. */
type Place = { field: string; entry?: number };

const WHOLE_BODY: Place = { field: 'body' };

function malformed(place: Place, reason: string, message: string, cause?: unknown): ApiError {
  return invalidRequest(message, { ...place, reason }, cause);
}

/**
 * Parses a request body. If a name occurs twice in an object, its last value counts.
 * @throws ApiError `invalid_request` when it is not strict UTF-8, not JSON, nested more than 32
 * levels, or holds U+0000, a lone surrogate or a number beyond the range of doubles
 */
export function parseBody(bytes: Uint8Array): Json {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw malformed(WHOLE_BODY, 'not_utf8', 'The body is not valid UTF-8.', cause);
  }
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw malformed(WHOLE_BODY, 'not_json', 'The body is not valid JSON.', cause);
  }
  checkValue(value, 1, WHOLE_BODY);
  return value;
}

function checkValue(value: Json, depth: number, place: Place): void {
  if (typeof value === 'string') checkText(value, place);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    const message = `${place.field} holds a number that is out of range.`;
    throw malformed(place, 'number_out_of_range', message);
  }
  if (typeof value !== 'object' || value === null) return;
  if (depth > MAX_DEPTH) {
    const message = `The body is nested more than ${MAX_DEPTH} levels deep.`;
    throw malformed(place, 'too_deep', message);
  }
  for (const [key, member] of Object.entries(value)) {
    checkText(key, place);
    checkValue(member, depth + 1, placeOf(key, { depth, isList: Array.isArray(value), place }));
  }
}

/** Where a member is: in a field of the body, or in an entry of that field's list. */
function placeOf(key: string, parent: { depth: number; isList: boolean; place: Place }): Place {
  if (parent.depth === 1 && !parent.isList) return { field: key };
  return parent.depth === 2 && parent.isList
    ? { ...parent.place, entry: Number(key) }
    : parent.place;
}

function checkText(text: string, place: Place): void {
  if (text.includes('\u0000') || !text.isWellFormed()) {
    const message = `${place.field} may hold neither U+0000 nor lone surrogates.`;
    throw malformed(place, 'invalid_character', message);
  }
}

/** The canonical JSON text of a value: RFC 8785. */
export function canonicalJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1)) // by UTF-16 code units, as the RFC requires
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

/**
 * The fingerprint of a body; identical bodies have the same fingerprint (C5). It is the SHA-256 of
 * the canonical JSON of the body as sent, before defaults are filled in. Key order and white space
 * do not change it; a default that the client sends does.
 */
export function fingerprintOf(body: Json): Buffer {
  return createHash('sha256').update(canonicalJson(body)).digest();
}
