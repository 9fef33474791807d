import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { S3Refusal } from './refusal.ts';

/** What a request is signed with. */
export interface S3Credentials {
  accessKey: string;
  secretKey: string;
  /** Only for temporary credentials. */
  sessionToken?: string;
}

interface Signed {
  /** `KEY/DAY/REGION/s3/aws4_request` */
  credential: string;
  signedHeaders: string[];
  signature: string;
  /** When it was signed, such as 20261122T010203Z. */
  date: string;
  sessionToken: string | undefined;
  /** The SHA-256 of the body in hex, or UNSIGNED-PAYLOAD. */
  payload: string;
}

const MAX_SKEW_MS = 900_000;
const MAX_LINK_SECONDS = 604_800;

/**
 * Checks Signature Version 4 in the Authorization header or in the query of a presigned link.
 * Source: "Authenticating Requests (AWS Signature Version 4)" of the S3 API reference.
 * @param nowMs the server's clock
 * @returns what the body was signed with
 * @throws S3Refusal
 */
export function verifySignature(
  request: IncomingMessage,
  url: URL,
  server: { credentials: S3Credentials[]; expired: Set<string>; nowMs: number },
): string {
  const signed = url.searchParams.has('X-Amz-Signature')
    ? signedByQuery(url, server.nowMs)
    : signedByHeader(request, server.nowMs);
  const [accessKey = '', day = '', region, service, end] = signed.credential.split('/');
  const known = server.credentials.find((credentials) => credentials.accessKey === accessKey);
  if (!known) throw new S3Refusal(403, 'InvalidAccessKeyId');
  if (known.sessionToken !== signed.sessionToken) throw new S3Refusal(400, 'InvalidToken');
  if (server.expired.has(accessKey)) throw new S3Refusal(400, 'ExpiredToken');
  if (region !== 'us-east-1' || service !== 's3' || end !== 'aws4_request') {
    throw new S3Refusal(400, 'AuthorizationHeaderMalformed');
  }
  const scope = [day, region, 's3', 'aws4_request'];
  const text = ['AWS4-HMAC-SHA256', signed.date, scope.join('/'), sha256(canonical())].join('\n');
  const genuine = hmac(scope.reduce(hmac, Buffer.from(`AWS4${known.secretKey}`)), text);
  const given = Buffer.from(signed.signature, 'hex');
  if (given.length !== genuine.length || !timingSafeEqual(given, genuine)) {
    throw new S3Refusal(403, 'SignatureDoesNotMatch');
  }
  return signed.payload;

  function canonical(): string {
    const headers = signed.signedHeaders.map((name) => {
      return `${name}:${String(request.headers[name] ?? '')
        .trim()
        .replace(/ +/g, ' ')}\n`;
    });
    const path = (request.url ?? '').split('?')[0]?.split('/').map(reencode).join('/');
    const names = signed.signedHeaders.join(';');
    const query = canonicalQuery(url);
    return [request.method, path, query, headers.join(''), names, signed.payload].join('\n');
  }
}

function signedByHeader({ headers }: IncomingMessage, nowMs: number): Signed {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;
  const [, credential, names, signature] = pattern.exec(headers.authorization ?? '') ?? [];
  if (!credential || !names || !signature) throw new S3Refusal(403, 'AccessDenied');
  const date = String(headers['x-amz-date'] ?? '');
  if (!(Math.abs(nowMs - toMs(date)) <= MAX_SKEW_MS)) {
    throw new S3Refusal(403, 'RequestTimeTooSkewed');
  }
  const signedHeaders = names.split(';');
  const unsigned = Object.keys(headers).find(
    (name) => name.startsWith('x-amz-') && !signedHeaders.includes(name),
  );
  if (unsigned !== undefined) throw new S3Refusal(403, 'AccessDenied');
  const payload = headers['x-amz-content-sha256'];
  if (typeof payload !== 'string') throw new S3Refusal(400, 'MissingSecurityHeader');
  const token = headers['x-amz-security-token'];
  const sessionToken = token === undefined ? undefined : String(token);
  return { credential, signedHeaders, signature, date, payload, sessionToken };
}

function signedByQuery({ searchParams }: URL, nowMs: number): Signed {
  const paramOf = (name: string) => searchParams.get(name) ?? '';
  const date = paramOf('X-Amz-Date');
  const seconds = Number(paramOf('X-Amz-Expires'));
  if (!(seconds >= 1 && seconds <= MAX_LINK_SECONDS)) {
    throw new S3Refusal(400, 'AuthorizationQueryParametersError');
  }
  const age = nowMs - toMs(date);
  if (!(age >= -MAX_SKEW_MS && age < seconds * 1000)) throw new S3Refusal(403, 'AccessDenied');
  return {
    credential: paramOf('X-Amz-Credential'),
    signedHeaders: paramOf('X-Amz-SignedHeaders').split(';'),
    signature: paramOf('X-Amz-Signature'),
    date,
    sessionToken: searchParams.get('X-Amz-Security-Token') ?? undefined,
    payload: 'UNSIGNED-PAYLOAD',
  };
}

function canonicalQuery({ searchParams }: URL): string {
  const pairs = [...searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return pairs.sort().join('&');
}

/** Milliseconds since 1970 of a time such as 20261122T010203Z; NaN for other texts. */
function toMs(date: string): number {
  return Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
}

function reencode(segment: string): string {
  return encode(decodeURIComponent(segment));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
