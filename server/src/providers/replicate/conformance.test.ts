import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSimulator } from '../../../../simulators/kit/process.ts';
import { TOKEN_WITHOUT_WEBHOOKS } from '../../../../simulators/replicate/replicate.ts';
import { parseAllowList } from '../../outbound/addresses.ts';
import { callOnce } from '../../outbound/call.ts';
import { createDoor } from '../../outbound/door.ts';
import { type ProviderSubject, providerConformance } from '../conformance.ts';
import { createReplicateProvider } from './replicate.ts';

async function start(apiToken: string): Promise<ProviderSubject> {
  const folder = await mkdtemp(path.join(tmpdir(), 'replicate-'));
  const simulator = await startSimulator('replicate', folder);
  const door = createDoor({ allow: parseAllowList(new URL(simulator.url).host) });
  const provider = createReplicateProvider({
    apiToken,
    call: callOnce,
    door,
    baseUrl: simulator.url,
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
const failedWith = (code: string) => ({ ...forced('failed'), quirks: [{ kind: 'fails', code }] });
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
  name: 'replicate',
  start: () => start('a-token'),
  startUnmarked: () => start(TOKEN_WITHOUT_WEBHOOKS),
  absence: 'weak',
  callsBack: true,
  refusals: [
    { fault: { code: 'input.image' }, becomes: request('invalid_media') },
    { fault: { code: 'input.reference_videos.1' }, becomes: request('invalid_media') },
    { fault: { code: 'input.resolution' }, becomes: request('invalid_request') },
    { fault: { code: 'input' }, becomes: request('invalid_request') },
    { fault: { status: 400 }, becomes: request('invalid_request') },
    { fault: { code: 'webhook' }, becomes: operator },
    { fault: { status: 422 }, becomes: operator },
    { fault: { status: 401 }, becomes: operator },
    { fault: { status: 402 }, becomes: operator },
    { fault: { status: 403 }, becomes: operator },
    { fault: { status: 404 }, becomes: operator },
    { fault: { status: 418 }, becomes: operator },
    { fault: { status: 429 }, becomes: { ...busy, retryAfterSeconds: 30 } },
    { fault: { status: 429, retryAfterSeconds: 7 }, becomes: { ...busy, retryAfterSeconds: 7 } },
  ],
  statuses: [
    { says: 'starting', changes: forced('starting'), becomes: working },
    { says: 'processing', changes: forced('processing'), becomes: working },
    { says: 'succeeded', changes: forced('succeeded'), becomes: { kind: 'succeeded' } },
    {
      says: 'refused for its content',
      changes: failedWith('E005'),
      becomes: failed('content_refused', null),
    },
    { says: 'failed', changes: failedWith('E001'), becomes: failed('provider_failed', null) },
    {
      says: 'aborted before it started',
      changes: forced('aborted'),
      becomes: failed('generation_expired', false),
    },
    {
      says: 'canceled while it ran',
      changes: forced('canceled'),
      becomes: failed('generation_expired', true),
    },
  ],
});
