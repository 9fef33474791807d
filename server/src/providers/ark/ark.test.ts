import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEY_WITHOUT_MARKS } from '../../../../simulators/ark/ark.ts';
import { findJobInput, newJobSpec, sendNow } from '../../../test/providers/conformance/attempts.ts';
import {
  busy,
  failed,
  failedWith,
  forced,
  operator,
  request,
  succeeded,
  working,
} from '../../../test/providers/conformance/meanings.ts';
import { startSimulated } from '../../../test/providers/conformance/simulated.ts';
import { providerConformance } from '../../../test/providers/conformance.ts';
import { createArkProvider } from './ark.ts';
import { BYTEPLUS_MODELS } from './request.ts';

function start({ apiKey = 'a-key', markAttempts = true } = {}) {
  return startSimulated(
    'ark',
    ({ url, options }) =>
      createArkProvider({
        ...options,
        models: BYTEPLUS_MODELS,
        baseUrl: `${url}/api/v3`,
        apiKey,
        markAttempts,
      }),
    ['--job-seconds', '0.6'],
  );
}

providerConformance({
  name: 'ark',
  transport: 'http',
  start,
  unmarked: {
    'with marking switched off': () => start({ markAttempts: false }),
    'behind a gateway that shows no marks': () => start({ apiKey: KEY_WITHOUT_MARKS }),
  },
  find: 'list',
  absence: 'weak',
  callbacks: 'unsigned',
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
    { says: 'queued', changes: forced('queued'), becomes: working },
    { says: 'running', changes: forced('running'), becomes: working },
    { says: 'succeeded', changes: forced('succeeded'), becomes: succeeded },
    {
      says: 'expired',
      changes: forced('expired'),
      becomes: failed('generation_expired', false),
    },
    {
      says: 'cancelled',
      changes: forced('cancelled'),
      becomes: failed('provider_failed', false),
    },
    {
      says: 'failed because of its content',
      changes: failedWith('OutputVideoSensitiveContentDetected.PolicyViolation'),
      becomes: failed('content_refused', false),
    },
    {
      says: 'failed otherwise',
      changes: failedWith('InternalServiceError'),
      becomes: failed('provider_failed', false),
    },
  ],
});

test('fifty finds at once cost at most two calls of LIST, and each finds its own job', async (t) => {
  const { provider, simulator, close } = await start();
  t.after(close);
  const from = Date.now();
  const jobSpecs = Array.from({ length: 50 }, () => newJobSpec());
  const sent = jobSpecs.slice(0, 5);
  await Promise.all(sent.map((jobSpec) => provider.submit(jobSpec, sendNow)));
  const found = await Promise.all(
    jobSpecs.map((jobSpec) => provider.find(findJobInput(jobSpec, from))),
  );
  assert.deepEqual(
    found.map(({ kind }) => kind),
    jobSpecs.map((_, index) => (index < sent.length ? 'found' : 'absent')),
  );
  const lists = (await simulator.requests()).filter(({ call }) => call === 'find');
  assert.ok(lists.length <= 2, `${lists.length} calls`);
});
