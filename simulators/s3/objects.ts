import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { S3Refusal } from './refusal.ts';

/** An object of a bucket, in memory. */
export type S3Object = ReturnType<typeof receivedObject>;

/** @throws S3Refusal when the body can't be stored, told from its headers alone */
export function checkBodyHeaders(headers: IncomingHttpHeaders, payload: string): void {
  if (payload.startsWith('STREAMING-')) throw new S3Refusal(501, 'NotImplemented');
  if (headers['content-length'] === undefined) throw new S3Refusal(411, 'MissingContentLength');
}

/**
 * Checks all that the client promised of its body.
 * @param payload the SHA-256 that was signed, in hex, or UNSIGNED-PAYLOAD
 * @throws S3Refusal
 */
export function receivedObject(bytes: Buffer, headers: IncomingHttpHeaders, payload: string) {
  const digest = (algorithm: string) => createHash(algorithm).update(bytes).digest();
  if (bytes.length !== Number(headers['content-length'])) {
    throw new S3Refusal(400, 'IncompleteBody');
  }
  if (payload !== 'UNSIGNED-PAYLOAD' && digest('sha256').toString('hex') !== payload) {
    throw new S3Refusal(400, 'XAmzContentSHA256Mismatch');
  }
  const sha256 = headers['x-amz-checksum-sha256'];
  if (sha256 !== undefined && sha256 !== digest('sha256').toString('base64')) {
    throw new S3Refusal(400, 'BadDigest');
  }
  return {
    bytes,
    etag: `"${digest('md5').toString('hex')}"`,
    /** As the client sent it, in base64; undefined when it sent none. */
    sha256: sha256 === undefined ? undefined : String(sha256),
    contentType: headers['content-type'] ?? 'application/octet-stream',
  };
}

/**
 * The status, headers and bytes of a GET or HEAD, with its range, its checksum if asked for, and
 * the headers that a presigned link overrides.
 * @throws S3Refusal when the range begins after the end
 */
export function readResponse(
  object: S3Object,
  headers: IncomingHttpHeaders,
  query: URLSearchParams,
) {
  const { bytes, etag, sha256, contentType } = object;
  const range = rangeIn(headers.range, bytes.length);
  const part = range ? bytes.subarray(range.first, range.last + 1) : bytes;
  const showsChecksum = sha256 !== undefined && headers['x-amz-checksum-mode'] === 'ENABLED';
  const given: OutgoingHttpHeaders = {
    'content-type': query.get('response-content-type') ?? contentType,
    'content-length': part.length,
    'accept-ranges': 'bytes',
    etag,
    ...(showsChecksum && !range && { 'x-amz-checksum-sha256': sha256 }),
    ...(range && { 'content-range': `bytes ${range.first}-${range.last}/${bytes.length}` }),
  };
  const disposition = query.get('response-content-disposition');
  if (disposition !== null) given['content-disposition'] = disposition;
  return { status: range ? 206 : 200, headers: given, bytes: part };
}

function rangeIn(text: string | undefined, size: number) {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(text ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (first > last) throw new S3Refusal(416, 'InvalidRange');
  return { first, last };
}
