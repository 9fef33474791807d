import { parseArgs } from 'node:util';
import { startSimulatedS3 } from './s3.ts';

// Serves until it is killed. Its objects are in memory: for trials and tests only.
const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    bucket: { type: 'string', default: 'videos' },
    'access-key': { type: 'string', default: 'test' },
    'secret-key': { type: 'string', default: 'testsecret' },
  },
});
const credentials = [{ accessKey: values['access-key'], secretKey: values['secret-key'] }];
const port = Number(values.port);
const running = await startSimulatedS3({ port, buckets: [values.bucket], credentials });
console.log(`s3 simulator listens at ${running.url}, bucket ${values.bucket}`);
