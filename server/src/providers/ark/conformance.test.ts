import { KEY_WITHOUT_MARKS } from '../../../../simulators/ark/ark.ts';
import {
  busy,
  codes,
  failed,
  failedWith,
  forced,
  operator,
  ownFailure,
  request,
  says,
  succeeded,
  working,
} from '../../../test/providers/conformance/meanings.ts';
import { startSimulated } from '../../../test/providers/conformance/simulated.ts';
import { providerConformance } from '../../../test/providers/conformance.ts';
import { settingsFrom } from '../../../test/providers/settings.ts';
import type { RemoteDeps } from '../kit/remote.ts';
import { ark, createArk } from './index.ts';

function start({ ARK_API_KEY = 'a-key', ARK_MARK_ATTEMPTS = 'yes' } = {}) {
  const create = (url: string, deps: RemoteDeps) => {
    const env = { ARK_API_KEY, ARK_MARK_ATTEMPTS, ARK_BASE_URL: `${url}/api/v3` };
    return createArk(settingsFrom(ark, env), deps);
  };
  return startSimulated('ark', create, ['--job-seconds', '0.6']);
}

providerConformance({
  name: 'ark',
  transport: 'http',
  start,
  unmarked: {
    'with marking switched off': () => start({ ARK_MARK_ATTEMPTS: 'no' }),
    'behind a gateway that shows no marks': () => start({ ARK_API_KEY: KEY_WITHOUT_MARKS }),
  },
  find: 'list',
  absence: 'weak',
  callbacks: 'unsigned',
  refusals: [
    ...codes(
      request('content_refused'),
      'InputTextSensitiveContentDetected',
      'InputImageSensitiveContentDetected.PrivacyInformation',
      'InputTextRiskDetection',
    ),
    ...codes(request('invalid_request'), 'MissingParameter.content', 'InvalidParameter'),
    ...codes(request('invalid_media'), 'InvalidParameter.content[1].image_url'),
    ...codes(
      busy,
      'RateLimitExceeded.EndpointRPMExceeded',
      'QuotaExceeded',
      'ServerOverloaded',
      'RequestBurstTooFast',
    ),
    {
      fault: { code: 'ModelAccountRpmRateLimitExceeded', retryAfterSeconds: 7 },
      becomes: { ...busy, retryAfterSeconds: 7 },
    },
    ...codes(
      operator,
      'InvalidParameter.UnsupportedParameter',
      'SetLimitExceeded',
      'AuthenticationError',
      'AccountOverdueError',
      'InvalidEndpointOrModel.NotFound',
      'ModelNotOpen',
    ),
    { fault: { code: 'SomethingNew', status: 429 }, becomes: busy },
    { fault: { code: 'SomethingNew', status: 400 }, becomes: operator },
  ],
  statuses: [
    says('queued', forced('queued'), working),
    says('running', forced('running'), working),
    says('succeeded', forced('succeeded'), succeeded),
    says('expired', forced('expired'), failed('generation_expired', false)),
    says('cancelled', forced('cancelled'), failed('provider_failed', false)),
    says(
      'failed because of its content',
      failedWith('OutputVideoSensitiveContentDetected.PolicyViolation'),
      failed('content_refused', false),
    ),
    says(
      'failed because of a parameter',
      failedWith('InvalidParameter'),
      failed('provider_failed', false),
    ),
    says(
      'failed by its own fault',
      failedWith('InternalServiceError'),
      ownFailure('provider_failed'),
    ),
  ],
});
