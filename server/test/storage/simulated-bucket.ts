import { type SimulatedS3, startSimulatedS3 } from '../../../simulators/s3/s3.ts';
import { parseS3Url } from '../../src/storage/s3/settings.ts';
import type { S3Bucket } from './s3-conformance.ts';

const ACCESS = { accessKeyId: 'test', secretAccessKey: 'testsecret' };

type StoredObjects = NonNullable<ReturnType<SimulatedS3['buckets']['get']>>;

/** A simulated S3 server with one bucket, whose `objects` have keys; the caller closes it. */
export async function simulatedBucket(
  prefix = 'a prefix/b',
): Promise<S3Bucket & { s3: SimulatedS3; url: string; objects: StoredObjects }> {
  const { accessKeyId: accessKey, secretAccessKey: secretKey } = ACCESS;
  const credentials = [{ accessKey, secretKey }];
  const s3 = await startSimulatedS3({ buckets: ['videos'], credentials });
  const url = `s3://videos/${prefix}?endpoint=${s3.url}`;
  const objects = s3.buckets.get('videos') ?? new Map();
  return { s3, url, objects, settings: parseS3Url(url), credentials: ACCESS };
}
