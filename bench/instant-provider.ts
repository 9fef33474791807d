import path from 'node:path';
import { makeVideo } from '../server/test/media/media-files.ts';
import { temporaryFolder } from '../server/test/temporary-folder.ts';
import { startSimulator } from '../simulators/kit/process.ts';

/** What the simulated provider returns for each job: 6 frames, 9 kB. */
const OUTPUT = { width: 64, height: 64, seconds: 0.25, audio: null } as const;

/** A simulated fal, in a process of its own, whose jobs end at once. */
interface InstantProvider {
  url: string;
  /** The variables of a service that uses it. */
  env: Record<string, string>;
}

export async function withInstantProvider<T>(
  work: (provider: InstantProvider) => Promise<T>,
): Promise<T> {
  await using folder = await temporaryFolder();
  const outputFile = path.join(folder.path, 'output.mp4');
  await makeVideo(outputFile, OUTPUT);
  const options = ['--job-seconds', '0', '--output-file', outputFile];
  const { url, kill } = await startSimulator('fal', folder.path, options);
  const env = {
    ROLES: 'api,worker',
    CREATE_WAIT_SECONDS: '0',
    PROVIDER: 'fal',
    FAL_API_KEY: 'bench',
    FAL_QUEUE_URL: url,
    PROVIDER_ALLOW: new URL(url).host,
    LOG_LEVEL: 'warn',
  };
  try {
    return await work({ url, env });
  } finally {
    await kill();
  }
}
