import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSimulator } from '../../../../simulators/kit/process.ts';
import { parseAllowList } from '../../outbound/addresses.ts';
import { callOnce } from '../../outbound/call.ts';
import { createDoor } from '../../outbound/door.ts';
import { type ProviderSubject, providerConformance } from '../conformance.ts';
import { createArkProvider } from './ark.ts';

async function start(markAttempts: boolean): Promise<ProviderSubject> {
  const folder = await mkdtemp(path.join(tmpdir(), 'ark-'));
  const simulator = await startSimulator('ark', folder, ['--job-seconds', '0.6']);
  const door = createDoor({ allow: parseAllowList(new URL(simulator.url).host) });
  const provider = createArkProvider({
    baseUrl: `${simulator.url}/api/v3`,
    apiKey: 'a-key',
    markAttempts,
    call: callOnce,
    door,
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

const failedWith = (code: string) => ({
  forcedStatus: 'failed',
  quirks: [{ kind: 'fails', code }],
});
const request = (code: 'content_refused' | 'invalid_media' | 'invalid_request') => {
  return { fault: 'request', code } as const;
};
const busy = { fault: 'busy' } as const;
const operator = { fault: 'operator' } as const;

providerConformance({
  name: 'ark',
  start: () => start(true),
  startUnmarked: () => start(false),
  absence: 'weak',
  callsBack: true,
  refusals: [
    { fault: { code: 'InputTextSensitiveContentDetected' }, becomes: request('content_refused') },
    {
      fault: { code: 'InputImageSensitiveContentDetected.PrivacyInformation' },
      becomes: request('content_refused'),
    },
    { fault: { code: 'InputTextRiskDetection' }, becomes: request('content_refused') },
    { fault: { code: 'MissingParameter.content' }, becomes: request('invalid_request') },
    { fault: { code: 'InvalidParameter' }, becomes: request('invalid_request') },
    { fault: { code: 'InvalidParameter.content[1].image_url' }, becomes: request('invalid_media') },
    { fault: { code: 'InvalidParameter.UnsupportedParameter' }, becomes: operator },
    { fault: { code: 'RateLimitExceeded.EndpointRPMExceeded' }, becomes: busy },
    {
      fault: { code: 'ModelAccountRpmRateLimitExceeded', retryAfterSeconds: 7 },
      becomes: { ...busy, retryAfterSeconds: 7 },
    },
    { fault: { code: 'QuotaExceeded' }, becomes: busy },
    { fault: { code: 'ServerOverloaded' }, becomes: busy },
    { fault: { code: 'RequestBurstTooFast' }, becomes: busy },
    { fault: { code: 'SomethingNew', status: 429 }, becomes: busy },
    { fault: { code: 'SetLimitExceeded' }, becomes: operator },
    { fault: { code: 'AuthenticationError' }, becomes: operator },
    { fault: { code: 'AccountOverdueError' }, becomes: operator },
    { fault: { code: 'InvalidEndpointOrModel.NotFound' }, becomes: operator },
    { fault: { code: 'ModelNotOpen' }, becomes: operator },
    { fault: { code: 'SomethingNew', status: 400 }, becomes: operator },
  ],
  statuses: [
    { says: 'queued', changes: { forcedStatus: 'queued' }, becomes: { kind: 'working' } },
    { says: 'running', changes: { forcedStatus: 'running' }, becomes: { kind: 'working' } },
    { says: 'succeeded', changes: { forcedStatus: 'succeeded' }, becomes: { kind: 'succeeded' } },
    {
      says: 'expired',
      changes: { forcedStatus: 'expired' },
      becomes: { kind: 'failed', code: 'generation_expired', billed: false },
    },
    {
      says: 'cancelled',
      changes: { forcedStatus: 'cancelled' },
      becomes: { kind: 'failed', code: 'provider_failed', billed: false },
    },
    {
      says: 'failed for its content',
      changes: failedWith('OutputVideoSensitiveContentDetected.PolicyViolation'),
      becomes: { kind: 'failed', code: 'content_refused', billed: false },
    },
    {
      says: 'failed otherwise',
      changes: failedWith('InternalServiceError'),
      becomes: { kind: 'failed', code: 'provider_failed', billed: false },
    },
  ],
});
