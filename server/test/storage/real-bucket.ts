import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { errorStatus, openS3Client } from '../../src/storage/s3/client.ts';
import { parseS3Url } from '../../src/storage/s3/settings.ts';
import { until } from '../until.ts';
import type { S3Bucket } from './s3-conformance.ts';

const {
  S3_TEST_ENDPOINT: endpoint = '',
  S3_TEST_BUCKET: name = 'framewright-test',
  S3_TEST_REGION: region = 'us-east-1',
  S3_TEST_ACCESS_KEY: accessKeyId = 'test',
  S3_TEST_SECRET_KEY: secretAccessKey = 'testsecret',
} = process.env;

/**
 * The bucket of a real S3 server, which is made when it is missing. Waits until the server responds.
 * @param prefix of the objects
 * @returns undefined when S3_TEST_ENDPOINT names no server
 */
export async function realBucket(
  prefix = 'a prefix/b',
): Promise<(S3Bucket & { url: string }) | undefined> {
  if (endpoint === '') return undefined;
  const url = `s3://${name}/${prefix}?endpoint=${endpoint}&region=${region}`;
  const bucket = { settings: parseS3Url(url), credentials: { accessKeyId, secretAccessKey } };
  await until(() => createBucket(bucket), Boolean);
  return { ...bucket, url };
}

/** @returns whether the bucket exists; false while the server starts */
async function createBucket({ settings, credentials }: S3Bucket): Promise<boolean> {
  const create = new CreateBucketCommand({ Bucket: settings.bucket });
  return openS3Client(settings, credentials)
    .send(create)
    .then(
      () => true,
      (error: unknown) => errorStatus(error) === 409,
    );
}
