import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { DeleteObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { UsageError } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { errorCode, errorStatus, openObjectStream } from './client.ts';
import { keyOf, type S3Settings } from './settings.ts';

const BYTES = Buffer.from('Framewright writes, reads and deletes this at each start.\n');

/**
 * Puts, reads and deletes a small object, and tests whether the store refuses to replace it.
 * @throws UsageError that says what is missing
 */
export async function probeS3(
  client: S3Client,
  settings: S3Settings,
): Promise<{ conditional: boolean }> {
  const bucket = settings.bucket;
  const key = keyOf(settings, `probe/${newId('object')}`);
  const sha256 = createHash('sha256').update(BYTES).digest('base64');
  const put = (conditional: boolean) =>
    client.send(
      new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body: BYTES,
        ChecksumSHA256: sha256,
        ...(conditional && { IfNoneMatch: '*' }),
      }),
    );
  const withAdvice = adviser(settings);
  await withAdvice('write', 's3:PutObject', () => put(false));
  try {
    await withAdvice('read', 's3:GetObject', () => requireBytes(client, { bucket, key }));
    return {
      conditional: await withAdvice('write', 's3:PutObject', () => refuses(() => put(true))),
    };
  } finally {
    const place = { Bucket: bucket, Key: key };
    await withAdvice('delete', 's3:DeleteObject', () =>
      client.send(new DeleteObjectCommand(place)),
    );
    await withAdvice('look for', 's3:ListBucket', () => requireMissing(client, { bucket, key }));
  }
}

async function requireBytes(client: S3Client, place: { bucket: string; key: string }) {
  const whole = await buffer(await openObjectStream(client, { ...place, range: undefined }));
  const range = { first: 1, last: 4 };
  const part = await buffer(await openObjectStream(client, { ...place, range }));
  if (!whole.equals(BYTES) || !part.equals(BYTES.subarray(1, 5))) {
    throw new Error('it returned other bytes than were written');
  }
}

/** @throws Error when a deleted object is not reported as missing */
async function requireMissing(client: S3Client, place: { bucket: string; key: string }) {
  try {
    (await openObjectStream(client, { ...place, range: undefined })).destroy();
  } catch (error) {
    if (errorCode(error) === 'NoSuchKey') return;
    throw error;
  }
  throw new Error('an object that was deleted can still be read');
}

/** Whether a put to an existing key is refused. Stores without conditional puts send 200 or 501. */
async function refuses(put: () => Promise<unknown>): Promise<boolean> {
  try {
    await put();
    return false;
  } catch (error) {
    if (errorStatus(error) === 412) return true;
    if (errorStatus(error) === 501) return false;
    throw error;
  }
}

function adviser({ bucket, endpoint, region }: S3Settings) {
  return async <T>(verb: string, permission: string, call: () => Promise<T>): Promise<T> => {
    try {
      return await call();
    } catch (error) {
      const what = `STORAGE_URL: can't ${verb} objects in the bucket ${bucket} at ${endpoint}`;
      const cause = `${errorCode(error)}: ${error instanceof Error ? error.message : error}`;
      throw new UsageError(`${what} (${cause}). ${adviceFor(error, { permission, region })}`, {
        cause: error,
      });
    }
  };
}

const ADVICE: Record<string, string> = {
  NoSuchBucket: 'Create the bucket, or correct its name.',
  InvalidAccessKeyId: 'The store does not know this access key.',
  SignatureDoesNotMatch: 'The secret key is wrong.',
  RequestTimeTooSkewed: "Set this machine's clock.",
  ExpiredToken: 'The credentials have expired.',
  CredentialsProviderError: 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a role.',
};

function adviceFor(error: unknown, expected: { permission: string; region: string }): string {
  const known = ADVICE[errorCode(error)];
  if (known !== undefined) return known;
  const status = errorStatus(error);
  if (status === undefined) return 'Check that the endpoint is right and can be reached.';
  if (status === 403) return `Allow ${expected.permission} for these credentials.`;
  if (status === 301 || status === 400) {
    return `Check the region (${expected.region}), the endpoint and pathStyle.`;
  }
  return 'Check the endpoint.';
}
