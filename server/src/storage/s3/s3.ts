import { DeleteObjectCommand, HeadObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { ObjectMissing, type Storage } from '../storage.ts';
import {
  type CredentialSource,
  errorCode,
  errorStatus,
  type FixedCredentials,
  inTime,
  openObjectStream,
  openS3Client,
} from './client.ts';
import { type PresignedRequest, presignedUrl } from './presign.ts';
import { probeS3 } from './probe.ts';
import { putFile } from './put.ts';
import { keyOf, type S3Settings } from './settings.ts';

export interface S3Options {
  settings: S3Settings;
  credentials?: FixedCredentials | CredentialSource | undefined;
  /** Before the first repetition of a put; then it doubles each time. */
  pauseMs?: number;
  /** Is called before an attempt to put an object is repeated. */
  retried?(objectId: string, error: unknown): void;
  /** Is called at the start if the store can't refuse to replace an object. */
  replaces?(): void;
}

/**
 * Stores objects in an S3 bucket, under `prefix/OBJECT_ID`.
 * @throws UsageError that says what is missing, when the bucket can't be used
 */
export async function openS3Storage(options: S3Options): Promise<Storage> {
  const client = openS3Client(options.settings, options.credentials);
  const { conditional } = await probeS3(client, options.settings);
  if (!conditional) options.replaces?.();
  return s3Storage(client, options, conditional);
}

function s3Storage(
  client: S3Client,
  { settings, pauseMs = 400, retried = () => {} }: S3Options,
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
    return { url, lasts: !isTemporary };
  };
  const place = (objectId: string) => ({ Bucket: bucket, Key: keyOf(settings, objectId) });
  return {
    put: (objectId, filePath) =>
      putFile(client, filePath, {
        bucket,
        key: keyOf(settings, objectId),
        conditional,
        pauseMs,
        retried: (error) => retried(objectId, error),
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
        const head = new HeadObjectCommand(place(objectId));
        return (await inTime((options) => client.send(head, options))).ContentLength;
      } catch (error) {
        if (errorStatus(error) !== 404) throw error;
        return undefined;
      }
    },
    async delete(objectId) {
      await client.send(new DeleteObjectCommand(place(objectId)));
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
