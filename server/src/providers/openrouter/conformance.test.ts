import { SIGNING_SECRET } from '../../../../simulators/openrouter/webhook.ts';
import {
  busy,
  codes,
  failed,
  failedWith,
  forced,
  operator,
  REFUSED_BY_STATUS,
  request,
  says,
  succeeded,
  working,
} from '../../../test/providers/conformance/meanings.ts';
import { startSimulated } from '../../../test/providers/conformance/simulated.ts';
import { providerConformance } from '../../../test/providers/conformance.ts';
import { settingsFrom } from '../../../test/providers/settings.ts';
import { createOpenRouter, openrouter } from './index.ts';

function start() {
  return startSimulated('openrouter', (url, deps) => {
    const secret = { OPENROUTER_API_KEY: 'a-key', OPENROUTER_WEBHOOK_SECRET: SIGNING_SECRET };
    const env = { ...secret, OPENROUTER_BASE_URL: `${url}/api/v1` };
    return createOpenRouter(settingsFrom(openrouter, env), deps);
  });
}

providerConformance({
  name: 'openrouter',
  transport: 'http',
  start,
  unmarked: {},
  find: 'none',
  absence: 'weak',
  callbacks: 'signed',
  hasNoCancel: true,
  refusals: [
    ...codes(
      request('content_refused'),
      'content_policy_violation',
      'moderation',
      'InputImageSensitiveContentDetected.PrivacyInformation',
      'InputTextRiskDetection',
    ),
    ...codes(request('invalid_media'), 'invalid_image', 'image_too_large'),
    ...codes(request('invalid_request'), 'invalid_request', 'InvalidParameter'),
    ...codes(operator, 'model_not_found', 'model_deprecated', 'region_restricted'),
    ...codes(operator, 'image_download_failed'),
    ...codes(busy, 'capacity_exhausted'),
    { fault: { status: 402 }, becomes: operator },
    { fault: { status: 413 }, becomes: request('invalid_request') },
    ...REFUSED_BY_STATUS,
  ],
  statuses: [
    says('pending', forced('pending'), working),
    says('in progress', forced('in_progress'), working),
    says('completed', forced('completed'), succeeded),
    says(
      'refused because of its content',
      failedWith('Content policy violation'),
      failed('content_refused', null),
    ),
    says(
      'refused by Seedance because of its content',
      failedWith('The output video may contain sensitive information'),
      failed('content_refused', null),
    ),
    says('failed', failedWith('Provider returned error'), failed('provider_failed', null)),
    says('cancelled', forced('cancelled'), failed('provider_failed', null)),
    says('expired', forced('expired'), failed('generation_expired', null)),
  ],
});
