import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSimulator } from '../../../../simulators/kit/process.ts';
import { parseAllowList } from '../../outbound/addresses.ts';
import { callOnce } from '../../outbound/call.ts';
import { createDoor } from '../../outbound/door.ts';
import { type ProviderSubject, providerConformance } from '../conformance.ts';
import { createFalProvider } from './fal.ts';

async function start(markWithEndUserId: boolean): Promise<ProviderSubject> {
  const folder = await mkdtemp(path.join(tmpdir(), 'fal-'));
  const simulator = await startSimulator('fal', folder);
  const door = createDoor({ allow: parseAllowList(new URL(simulator.url).host) });
  const provider = createFalProvider({
    apiKey: 'a-key',
    markWithEndUserId,
    call: callOnce,
    door,
    queueUrl: simulator.url,
    platformUrl: simulator.url,
    jwksUrl: `${simulator.url}/.well-known/jwks.json`,
    submitTimeoutSeconds: 0.7,
    readTimeoutSeconds: 0.7,
    maxOutputBytes: 2 ** 24,
    now: Date.now,
  });
  return {
    provider,
    simulator,
    async close() {
      await Promise.all([simulator.kill(), door.close()]);
      await rm(folder, { recursive: true });
    },
  };
}

const forced = (forcedStatus: string) => ({ forcedStatus });
const failedWith = (code: string) => ({
  forcedStatus: 'COMPLETED',
  quirks: [{ kind: 'fails', code }],
});
const failed = (code: string, billed: boolean | null) => {
  return { kind: 'failed', code, billed } as const;
};
const request = (code: 'content_refused' | 'invalid_media' | 'invalid_request') => {
  return { fault: 'request', code } as const;
};
const busy = { fault: 'busy' } as const;
const operator = { fault: 'operator' } as const;
const working = { kind: 'working' } as const;

providerConformance({
  name: 'fal',
  start: () => start(true),
  startUnmarked: () => start(false),
  absence: 'weak',
  callsBack: true,
  refusals: [
    { fault: { code: 'content_policy_violation' }, becomes: request('content_refused') },
    { fault: { code: 'image_too_large' }, becomes: request('invalid_media') },
    { fault: { code: 'unsupported_video_format' }, becomes: request('invalid_media') },
    { fault: { code: 'literal_error' }, becomes: request('invalid_request') },
    { fault: { status: 400 }, becomes: request('invalid_request') },
    { fault: { code: 'file_download_error' }, becomes: operator },
    { fault: { status: 401 }, becomes: operator },
    { fault: { status: 403 }, becomes: operator },
    { fault: { status: 404 }, becomes: operator },
    { fault: { status: 418 }, becomes: operator },
    { fault: { status: 429 }, becomes: busy },
    { fault: { status: 429, retryAfterSeconds: 7 }, becomes: { ...busy, retryAfterSeconds: 7 } },
  ],
  statuses: [
    { says: 'in the queue', changes: forced('IN_QUEUE'), becomes: working },
    { says: 'in progress', changes: forced('IN_PROGRESS'), becomes: working },
    { says: 'completed', changes: forced('COMPLETED'), becomes: { kind: 'succeeded' } },
    {
      says: 'refused for its content',
      changes: failedWith('content_policy_violation'),
      becomes: failed('content_refused', null),
    },
    {
      says: 'refused for an input that fal could not fetch',
      changes: failedWith('file_download_error'),
      becomes: failed('provider_failed', null),
    },
    {
      says: 'over its time to start',
      changes: failedWith('request_timeout'),
      becomes: failed('generation_expired', false),
    },
    {
      says: 'lost with its runner',
      changes: failedWith('runner_disconnected'),
      becomes: failed('provider_failed', false),
    },
    {
      says: 'cancelled',
      changes: failedWith('client_cancelled'),
      becomes: failed('provider_failed', null),
    },
  ],
});
