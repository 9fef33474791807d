import { S3Client as Client, type S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import type { S3Settings } from './settings.ts';

/** Credentials that do not come from the SDK's usual chain; for tests. */
export interface FixedCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** Gives credentials again when those before have expired. */
export type CredentialSource = () => Promise<FixedCredentials & { expiration?: Date }>;

const CONNECT_MS = 3_000;
const RESPONSE_MS = 30_000;

/**
 * A client whose calls all end: the SDK has no timeouts by default. Checksums are sent only where
 * this service gives one: the SDK's own make each streamed PUT a chunked body with a trailer, which
 * many stores refuse or store as it is (decisions/0021).
 */
export function openS3Client(
  settings: S3Settings,
  credentials?: FixedCredentials | CredentialSource,
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
      socketTimeout: 0, // a slow reader of a body is no fault of the store
      throwOnRequestTimeout: true,
    },
    logger: SILENT,
    ...(credentials && { credentials }),
  });
}

/** The SDK writes to the console otherwise; this service logs what it repeats itself. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** The code of the store's error response, such as NoSuchKey; otherwise the error's name. */
export function errorCode(error: unknown): string {
  return error instanceof Error ? error.name : String(error);
}

/** The status of the store's response; undefined when there was none. */
export function errorStatus(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

/** Refusals that say nothing against the request itself: the same one may succeed. */
const PASSING_CODES = new Set([
  'BadDigest',
  'ConditionalRequestConflict',
  'ExpiredToken',
  'IncompleteBody',
  'OperationAborted',
  'RequestTimeout',
  'RequestTimeTooSkewed',
  'XAmzContentSHA256Mismatch',
]);

/** Whether the same call may succeed when it is made again. */
export function mayPass(error: unknown): boolean {
  const status = errorStatus(error);
  if (status === undefined)
    return error instanceof Error && !('syscall' in error && error.syscall === 'open');
  return status >= 500 || status === 408 || status === 429 || PASSING_CODES.has(errorCode(error));
}
