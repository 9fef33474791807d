import { pipeline, Readable, Transform } from 'node:stream';
import {
  S3Client as Client,
  GetObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import type { ByteRange } from '../storage.ts';
import type { S3Settings } from './settings.ts';

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** Returns new credentials when the previous ones have expired. */
export type CredentialSource = () => Promise<S3Credentials & { expiration?: Date }>;

const CONNECT_MS = 3_000;
const RESPONSE_MS = 30_000;

/**
 * A client whose calls all time out, unlike the SDK's. The SDK's own checksums are off: they make a
 * streamed PUT a chunked body with a trailer, which many stores refuse or store verbatim
 * (decisions/0021).
 */
export function openS3Client(
  settings: S3Settings,
  credentials?: S3Credentials | CredentialSource,
): S3Client {
  return new Client({
    endpoint: settings.endpoint,
    region: settings.region,
    forcePathStyle: settings.pathStyle,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: RESPONSE_MS,
      socketTimeout: 0, // a slow reader of a body is not the store's fault
      throwOnRequestTimeout: true,
    },
    logger: SILENT,
    ...(credentials && { credentials }),
  });
}

/** Otherwise the SDK writes to the console; this service logs its own retries. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** The code of the store's error response, such as NoSuchKey; otherwise the error's name. */
export function errorCode(error: unknown): string {
  return error instanceof Error ? error.name : String(error);
}

/** The status of the store's response; undefined when there was none. */
export function errorStatus(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

const TRANSIENT_CODES = new Set([
  'BadDigest',
  'ConditionalRequestConflict',
  'ExpiredToken',
  'IncompleteBody',
  'OperationAborted',
  'RequestTimeout',
  'RequestTimeTooSkewed',
  'XAmzContentSHA256Mismatch',
]);

export function isTransient(error: unknown): boolean {
  const status = errorStatus(error);
  // Without a response, only a local file that can't be opened fails for good.
  if (status === undefined)
    return error instanceof Error && !('syscall' in error && error.syscall === 'open');
  return status >= 500 || status === 408 || status === 429 || TRANSIENT_CODES.has(errorCode(error));
}

/** A read's response must begin within this time, the SDK's retries included: a client waits. */
const OPEN_SECONDS = 5;
/** A read fails when the store sends nothing for this long while its bytes are wanted. */
const SILENCE_MS = 30_000;
const CHECK_MS = 1_000;

/**
 * Opens an object or a range of it. A whole object is compared with its checksum: the stream fails
 * at its end if they differ. @throws the store's error
 */
export async function openObjectStream(
  client: S3Client,
  source: { bucket: string; key: string; range: ByteRange | undefined },
): Promise<Readable> {
  const { bucket: Bucket, key: Key, range } = source;
  const get = new GetObjectCommand({
    Bucket,
    Key,
    ...(range ? { Range: `bytes=${range.first}-${range.last}` } : { ChecksumMode: 'ENABLED' }),
  });
  const { Body } = await withDeadline((options) => client.send(get, options));
  if (!(Body instanceof Readable)) throw new Error('the store sent no body');
  return failWhenSilent(Body);
}

/** Ends a call that gets no response in time. The body of its response may take longer. */
export async function withDeadline<Response>(
  call: (options: { abortSignal: AbortSignal }) => Promise<Response>,
): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), OPEN_SECONDS * 1000);
  try {
    return await call({ abortSignal: late.signal });
  } catch (error) {
    if (!late.signal.aborted) throw error;
    throw new Error(`the storage did not respond within ${OPEN_SECONDS} s`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Passes on the bytes of `body`; fails when the store is silent. Its end closes `body`. */
function failWhenSilent(body: Readable): Readable {
  let lastMs = performance.now();
  const bytes = new Transform({
    transform(chunk, _encoding, done) {
      lastMs = performance.now();
      done(null, chunk);
    },
  });
  const looking = setInterval(() => {
    if (bytes.writableNeedDrain)
      lastMs = performance.now(); // the reader is slow, not the store
    else if (performance.now() - lastMs > SILENCE_MS) {
      body.destroy(new Error(`the storage sent nothing for ${SILENCE_MS / 1000} s`));
    }
  }, CHECK_MS);
  pipeline(body, bytes, () => clearInterval(looking));
  return bytes;
}
