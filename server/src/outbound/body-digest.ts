import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import { OutboundError } from './refusal.ts';

/** The supported algorithms, preferred first, with the length of their digests. */
const BYTES = { 'sha-256': 32, 'sha-512': 64, md5: 16, crc32: 4 };
type Algorithm = keyof typeof BYTES;
const ALGORITHMS = Object.keys(BYTES) as Algorithm[];

interface Digest {
  algorithm: Algorithm;
  value: Buffer;
}

export interface DigestCheck {
  update(chunk: Uint8Array): void;
  /** @throws OutboundError when the body does not match the digest */
  end(): void;
}

const UNCHECKED: DigestCheck = { update: () => {}, end: () => {} };

/**
 * Checks a whole body against a digest in the response's headers (RFC 9530, RFC 3230,
 * `Content-MD5`, `x-amz-checksum-*`, `x-goog-hash`). Of several, the preferred algorithm counts.
 * Unknown algorithms and malformed headers are ignored. An ETag is never used: after a multipart
 * upload it is no digest of the file.
 */
export function checkDigest(headers: IncomingHttpHeaders): DigestCheck {
  // The digest would be of the encoded body, which is decoded before it arrives here.
  if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') return UNCHECKED;
  const given = digestsIn(headers);
  const [expected] = ALGORITHMS.flatMap((name) =>
    given.filter(({ algorithm }) => algorithm === name),
  );
  return expected ? checkFor(expected) : UNCHECKED;
}

function checkFor({ algorithm, value }: Digest): DigestCheck {
  const hash = openHash(algorithm);
  return {
    update: hash.update,
    end() {
      if (hash.digest().equals(value)) return;
      const message = `The response is not the file whose ${algorithm} its host announced`;
      throw new OutboundError('not_reachable', message);
    },
  };
}

function openHash(algorithm: Algorithm) {
  if (algorithm !== 'crc32') {
    const hash = createHash(algorithm.replace('-', ''));
    return { update: (chunk: Uint8Array) => void hash.update(chunk), digest: () => hash.digest() };
  }
  let sum = 0;
  return {
    update(chunk: Uint8Array) {
      sum = crc32(chunk, sum);
    },
    digest() {
      const value = Buffer.alloc(4);
      value.writeUInt32BE(sum);
      return value;
    },
  };
}

function digestsIn(headers: IncomingHttpHeaders): Digest[] {
  const headerOf = (name: string) => [headers[name] ?? []].flat().join(',');
  const all = [
    ...parseStructured(headerOf('repr-digest')),
    ...parseStructured(headerOf('content-digest')),
    ...parseLegacy(headerOf('digest')),
    ...parseDigest('md5', headerOf('content-md5')),
  ];
  // A composite checksum is made from the checksums of parts, not from the whole object.
  if (headerOf('x-amz-checksum-type').toUpperCase() !== 'COMPOSITE') {
    all.push(...parseDigest('sha-256', headerOf('x-amz-checksum-sha256')));
    all.push(...parseDigest('crc32', headerOf('x-amz-checksum-crc32')));
  }
  // x-goog-hash is of the stored object, which the store may decode when serving it.
  const isServedAsStored = /^(identity)?$/i.test(headerOf('x-goog-stored-content-encoding'));
  if (isServedAsStored) all.push(...parseLegacy(headerOf('x-goog-hash')));
  return all;
}

/** A dictionary of byte sequences (RFC 8941), such as `sha-256=:BASE64:, sha-512=:BASE64:`. */
function parseStructured(header: string): Digest[] {
  return header.split(',').flatMap((member) => {
    const [, name = '', value = ''] = /^\s*([a-z0-9-]+)=:([^:]*):/.exec(member) ?? [];
    return parseDigest(name, value);
  });
}

/** The older format, with names in upper or lower case: `SHA-256=BASE64,md5=BASE64`. */
function parseLegacy(header: string): Digest[] {
  return header.split(',').flatMap((member) => {
    const [, name = '', value = ''] = /^\s*([a-z0-9-]+)=(.*)$/i.exec(member) ?? [];
    return parseDigest(name.toLowerCase(), value.trim());
  });
}

/** Empty for an unknown algorithm, or a value that can't be its digest. */
function parseDigest(name: string, text: string): Digest[] {
  const algorithm = ALGORITHMS.find((known) => known === name);
  const value = Buffer.from(text, 'base64');
  const isDigest = algorithm && value.length === BYTES[algorithm];
  return isDigest && value.toString('base64') === text ? [{ algorithm, value }] : [];
}
