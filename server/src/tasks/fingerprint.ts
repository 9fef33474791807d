import { createHash } from 'node:crypto';
import { ApiError } from '../kernel/errors.ts';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Bodies may be nested this deep (design decision 5). */
const MAX_DEPTH = 32;

function malformed(reason: string, message: string, cause?: unknown): ApiError {
  return new ApiError('invalid_request', message, { details: { reason }, cause });
}

/**
 * Parses a request body.
 * @throws ApiError `invalid_request` when it is not strict UTF-8, not JSON, nested more than 32
 * levels, or holds U+0000, a lone surrogate or a number beyond the range of doubles
 */
export function parseBody(bytes: Uint8Array): Json {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw malformed('not_utf8', 'The body is not valid UTF-8.', cause);
  }
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw malformed('not_json', 'The body is not valid JSON.', cause);
  }
  checkValue(value, 1);
  return value;
}

function checkValue(value: Json, depth: number): void {
  if (typeof value === 'string') checkText(value);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw malformed('number_out_of_range', 'The body holds a number that is out of range.');
  }
  if (typeof value !== 'object' || value === null) return;
  if (depth > MAX_DEPTH) {
    throw malformed('too_deep', `The body is nested more than ${MAX_DEPTH} levels deep.`);
  }
  for (const [key, member] of Object.entries(value)) {
    checkText(key);
    checkValue(member, depth + 1);
  }
}

function checkText(text: string): void {
  if (text.includes('\u0000') || !text.isWellFormed()) {
    const message = 'Text may hold neither U+0000 nor lone surrogates.';
    throw malformed('invalid_character', message);
  }
}

/** The canonical JSON text of a value: RFC 8785. */
export function canonicalJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1)) // by UTF-16 code units, as the RFC wants
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

/**
 * What makes two bodies identical: the SHA-256 of the canonical JSON of the body as sent, before
 * defaults are filled in. Key order and white space do not matter; an explicit default does.
 */
export function fingerprintOf(body: Json): Buffer {
  return createHash('sha256').update(canonicalJson(body)).digest();
}
