import { before, test } from 'node:test';
import { CreateBucketCommand } from '@aws-sdk/client-s3';
import { errorStatus, openS3Client } from '../../src/storage/s3/client.ts';
import { openS3Storage } from '../../src/storage/s3/s3.ts';
import { parseS3Url } from '../../src/storage/s3/settings.ts';
import { until } from '../until.ts';
import { testStorage } from './conformance.ts';
import { type S3Bucket, testS3Storage } from './s3-conformance.ts';

// The conformance suites against a real server. s3-server.sh installs and starts some.
const {
  S3_TEST_ENDPOINT: endpoint = '',
  S3_TEST_BUCKET: name = 'framewright-test',
  S3_TEST_REGION: region = 'us-east-1',
  S3_TEST_ACCESS_KEY: accessKeyId = 'test',
  S3_TEST_SECRET_KEY: secretAccessKey = 'testsecret',
} = process.env;

if (endpoint === '') {
  test('a real S3 server', { skip: 'S3_TEST_ENDPOINT is not set' }, () => {});
} else {
  const bucket: S3Bucket = {
    settings: parseS3Url(`s3://${name}/a prefix/b?endpoint=${endpoint}&region=${region}`),
    credentials: { accessKeyId, secretAccessKey },
  };
  before(() => until(() => createBucket(bucket), Boolean));
  testStorage(endpoint, () => openS3Storage(bucket));
  testS3Storage(endpoint, async () => bucket);
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
