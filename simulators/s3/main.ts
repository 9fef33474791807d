import { readCommandLine } from '../kit/options.ts';
import { startSimulatedS3 } from './s3.ts';

const about = 'Simulates an S3 store with its objects in memory, for trials and tests only.';
const line = readCommandLine('s3/main.ts', about, {
  port: { value: 'N', default: '0', about: 'its port; 0 picks a free one' },
  bucket: { value: 'NAME', default: 'videos', about: 'its only bucket' },
  'access-key': { value: 'KEY', default: 'test', about: 'the access key that it accepts' },
  'secret-key': { value: 'KEY', default: 'testsecret', about: 'the secret of the access key' },
});
const bucket = line.text('bucket');
const credentials = [{ accessKey: line.text('access-key'), secretKey: line.text('secret-key') }];
const running = await startSimulatedS3({
  port: line.number('port'),
  buckets: [bucket],
  credentials,
});
console.log(`s3 simulator listens at ${running.url}, bucket ${bucket}`);
