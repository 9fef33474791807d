import { test } from 'node:test';
import { openS3Storage } from '../../src/storage/s3/s3.ts';
import { testStorage } from './conformance.ts';
import { realBucket } from './real-bucket.ts';
import { testS3Storage } from './s3-conformance.ts';

// The conformance suites against a real server. s3-server.sh installs and starts some.
const bucket = await realBucket();
if (bucket) {
  const { endpoint = '' } = bucket.settings;
  testStorage(endpoint, () => openS3Storage(bucket));
  testS3Storage(endpoint, async () => bucket);
} else {
  test('a real S3 server', { skip: 'S3_TEST_ENDPOINT is not set' }, () => {});
}
