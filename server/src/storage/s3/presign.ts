import { createHash, createHmac } from 'node:crypto';
import type { S3Credentials } from './client.ts';
import type { S3Settings } from './settings.ts';

export interface PresignedRequest {
  method: 'GET' | 'PUT';
  key: string;
  /** The signing time, by the store's clock. */
  at: Date;
  /** 1 to 604800, the most that S3 allows. */
  seconds: number;
  overrides?: Record<string, string>;
  /** Headers that the request must have, by lower-case name. */
  headers?: Record<string, string>;
}

/**
 * A link presigned with Signature Version 4, in its query ("Authenticating Requests: Using Query
 * Parameters" of the S3 API reference). The SDK's own presigner takes twenty times as long.
 */
export function presignedUrl(
  settings: S3Settings,
  credentials: S3Credentials,
  { method, key, at, seconds, overrides, headers }: PresignedRequest,
): string {
  const { origin, path } = locate(settings, key);
  const date = at.toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = [date.slice(0, 8), settings.region, 's3', 'aws4_request'];
  const signed = Object.entries({ ...headers, host: new URL(origin).host }).sort();
  const names = signed.map(([name]) => name);
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const parameters = {
    ...overrides,
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': [accessKeyId, ...scope].join('/'),
    'X-Amz-Date': date,
    'X-Amz-Expires': String(seconds),
    'X-Amz-SignedHeaders': names.join(';'),
    ...(sessionToken !== undefined && { 'X-Amz-Security-Token': sessionToken }),
  };
  const query = Object.entries(parameters)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
  const lines = signed.map(([name, value]) => `${name}:${value}\n`);
  const canonical = [method, path, query, lines.join(''), names.join(';'), 'UNSIGNED-PAYLOAD'];
  const digest = createHash('sha256').update(canonical.join('\n')).digest('hex');
  const text = ['AWS4-HMAC-SHA256', date, scope.join('/'), digest].join('\n');
  const signingKey = scope.reduce(hmac, Buffer.from(`AWS4${secretAccessKey}`));
  const signature = hmac(signingKey, text).toString('hex');
  return `${origin}${path}?${query}&X-Amz-Signature=${signature}`;
}

function locate({ publicEndpoint, bucket, pathStyle }: S3Settings, key: string) {
  const path = `/${key.split('/').map(encode).join('/')}`;
  const origin = originOf({ publicEndpoint, bucket, pathStyle });
  return { origin, path: pathStyle ? `/${bucket}${path}` : path };
}

/** Percent-encodes all but letters, digits and `-._~`, as the signature asks. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

export function originOf({
  publicEndpoint,
  bucket,
  pathStyle,
}: Pick<S3Settings, 'publicEndpoint' | 'bucket' | 'pathStyle'>): string {
  return pathStyle ? publicEndpoint : publicEndpoint.replace('://', `://${bucket}.`);
}
