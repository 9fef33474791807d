import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import {
  DeleteObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { ObjectMissing, type Storage } from '../storage.ts';
import {
  type CredentialSource,
  errorCode,
  errorStatus,
  isTransient,
  openObjectStream,
  openS3Client,
  type S3Credentials,
  withDeadline,
} from './client.ts';
import { type PresignedRequest, presignedUrl } from './presign.ts';
import { probeS3 } from './probe.ts';
import { keyOf, type S3Settings } from './settings.ts';

export interface S3Options {
  settings: S3Settings;
  credentials?: S3Credentials | CredentialSource | undefined;
  pauseMs?: number;
  onRetry?(objectId: string, error: unknown): void;
  /** Called at the start if the store can't refuse to replace an object. */
  onMayReplace?(): void;
}

/** Stores objects under `prefix/OBJECT_ID`. @throws UsageError when the bucket can't be used */
export async function openS3Storage(options: S3Options): Promise<Storage> {
  const client = openS3Client(options.settings, options.credentials);
  const { conditional } = await probeS3(client, options.settings);
  if (!conditional) options.onMayReplace?.();
  return s3Storage(client, options, conditional);
}

function s3Storage(
  client: S3Client,
  { settings, pauseMs = 400, onRetry = () => {} }: S3Options,
  conditional: boolean,
): Storage {
  const { bucket } = settings;
  const sign = async (objectId: string, request: Omit<PresignedRequest, 'key' | 'at'>) => {
    const credentials = await client.config.credentials();
    const isTemporary = credentials.expiration !== undefined || credentials.sessionToken;
    const url = presignedUrl(settings, credentials, {
      ...request,
      key: keyOf(settings, objectId),
      at: new Date(Date.now() + client.config.systemClockOffset),
      seconds: Math.floor(Math.min(Math.max(request.seconds, 1), MAX_LINK_SECONDS)),
    });
    return { url, worksUntilExpiry: !isTemporary };
  };
  const placeOf = (objectId: string) => ({ Bucket: bucket, Key: keyOf(settings, objectId) });
  return {
    put: (objectId, filePath) =>
      putFile(client, filePath, {
        bucket,
        key: keyOf(settings, objectId),
        conditional,
        pauseMs,
        onRetry: (error) => onRetry(objectId, error),
      }),
    async open(objectId, range) {
      try {
        return await openObjectStream(client, { bucket, key: keyOf(settings, objectId), range });
      } catch (error) {
        if (errorCode(error) !== 'NoSuchKey') throw error;
        throw new ObjectMissing(objectId, { cause: error });
      }
    },
    async sizeOf(objectId) {
      try {
        const head = new HeadObjectCommand(placeOf(objectId));
        return (await withDeadline((options) => client.send(head, options))).ContentLength;
      } catch (error) {
        if (errorStatus(error) !== 404) throw error;
        return undefined;
      }
    },
    async delete(objectId) {
      await client.send(new DeleteObjectCommand(placeOf(objectId)));
    },
    async presign(objectId, { seconds, mediaType, fileName }) {
      const overrides = {
        'response-content-type': mediaType,
        'response-content-disposition': `inline; filename="${fileName}"`,
      };
      return sign(objectId, { method: 'GET', seconds, overrides });
    },
    async presignPut(objectId, { seconds, mediaType, sizeBytes }) {
      const headers = { 'content-type': mediaType, 'content-length': String(sizeBytes) };
      const { url } = await sign(objectId, { method: 'PUT', seconds, headers });
      return { url, headers };
    },
  };
}

/** The most that S3 allows: a week. */
const MAX_LINK_SECONDS = 604_800;

interface PutTarget {
  bucket: string;
  key: string;
  conditional: boolean;
  /** The backoff before the second attempt; it doubles each time. */
  pauseMs: number;
  onRetry(error: unknown): void;
}

const ATTEMPTS = 4;
const READ_BYTES = 2 ** 20;
/** The time limit of one attempt: this, plus two seconds per megabyte. */
const SHORTEST_LIMIT_MS = 30_000;
const MS_PER_BYTE = 0.002;

/**
 * Puts a file in one PUT of known length with its SHA-256, which the store verifies: it appears
 * completely or not at all. The SDK never retries a stream, so this function does, with a new one
 * each time.
 * @throws the store's error, if it is not transient
 */
async function putFile(client: S3Client, filePath: string, target: PutTarget): Promise<void> {
  const { size } = await stat(filePath);
  const file = { ...target, filePath, size, sha256: await sha256Of(filePath) };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await putOnce(client, file);
    } catch (error) {
      if (errorStatus(error) === 412) return await requireSame(client, file);
      if (attempt === ATTEMPTS || !isTransient(error)) throw error;
      target.onRetry(error);
      if (errorCode(error) === 'ExpiredToken') await refreshCredentials(client);
      await delay(target.pauseMs * 2 ** (attempt - 1) * (0.5 + Math.random()));
    }
  }
}

interface SourceFile extends PutTarget {
  filePath: string;
  size: number;
  sha256: string;
}

async function putOnce(client: S3Client, file: SourceFile): Promise<void> {
  const body = createReadStream(file.filePath, { highWaterMark: READ_BYTES });
  const limitMs = SHORTEST_LIMIT_MS + Math.ceil(file.size * MS_PER_BYTE);
  const put = new PutObjectCommand({
    Bucket: file.bucket,
    Key: file.key,
    Body: body,
    ContentLength: file.size,
    ChecksumSHA256: file.sha256,
    ...(file.conditional && { IfNoneMatch: '*' }),
  });
  try {
    const abortSignal = AbortSignal.timeout(limitMs);
    await client.send(put, { abortSignal, requestTimeout: limitMs });
  } finally {
    body.destroy();
  }
}

/** Checks that a taken key has this file: an earlier response was lost. @throws Error otherwise */
async function requireSame(client: S3Client, file: SourceFile): Promise<void> {
  const { bucket: Bucket, key: Key } = file;
  const head = await client.send(new HeadObjectCommand({ Bucket, Key, ChecksumMode: 'ENABLED' }));
  const stored = head.ChecksumSHA256 ?? file.sha256; // some stores don't keep it
  if (head.ContentLength !== file.size || stored !== file.sha256) {
    throw new Error(`the bucket has another object at ${Key}; it is not replaced`);
  }
}

/** Forces new temporary credentials, whatever expiry the current ones have. */
async function refreshCredentials(client: S3Client): Promise<void> {
  const options: object = { forceRefresh: true };
  await client.config.credentials(options).catch(() => {});
}

async function sha256Of(filePath: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of createReadStream(filePath, { highWaterMark: READ_BYTES })) {
    hash.update(part);
  }
  return hash.digest('base64');
}
