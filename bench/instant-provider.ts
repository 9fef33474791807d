import path from 'node:path';
import { makeVideo, type TestVideo } from '../server/test/media/media-files.ts';
import { temporaryFolder } from '../server/test/temporary-folder.ts';
import { startSimulator } from '../simulators/kit/process.ts';

/** What the simulated provider returns for each job if nothing else is given: 6 frames, 9 kB. */
const SMALL: TestVideo = { width: 64, height: 64, seconds: 0.25, audio: null };

/** A simulated fal, in a process of its own, whose jobs end at once if nothing else is asked. */
export interface InstantProvider {
  url: string;
  /** The variables of a service that uses it. */
  env: Record<string, string>;
  /** The jobs that it accepted. */
  jobs(): Promise<Array<{ id: string; prompt: string; createdAt: number }>>;
  /** All requests that it got, in their order; `at` in milliseconds since 1970. */
  requests(): Promise<Array<{ call: string; path: string; at: number }>>;
}

export async function withInstantProvider<T>(
  work: (provider: InstantProvider) => Promise<T>,
  { output = SMALL, jobSeconds = 0 }: { output?: TestVideo; jobSeconds?: number } = {},
): Promise<T> {
  await using folder = await temporaryFolder();
  const outputFile = path.join(folder.path, 'output.mp4');
  await makeVideo(outputFile, output);
  const options = ['--job-seconds', String(jobSeconds), '--output-file', outputFile];
  const { url, kill, jobs, requests } = await startSimulator('fal', folder.path, options);
  const env = {
    ROLES: 'api,worker',
    CREATE_WAIT_SECONDS: '0',
    PROVIDER: 'fal',
    FAL_API_KEY: 'bench',
    FAL_QUEUE_URL: url,
    FAL_JWKS_URL: `${url}/.well-known/jwks.json`,
    PROVIDER_ALLOW: new URL(url).host,
    LOG_LEVEL: 'warn',
  };
  try {
    return await work({ url, env, jobs, requests });
  } finally {
    await kill();
  }
}
