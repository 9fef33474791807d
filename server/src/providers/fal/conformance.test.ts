import {
  busy,
  codes,
  failed,
  failedWith,
  forced,
  operator,
  ownFailure,
  REFUSED_BY_STATUS,
  request,
  says,
  succeeded,
  working,
} from '../../../test/providers/conformance/meanings.ts';
import { startSimulated } from '../../../test/providers/conformance/simulated.ts';
import { providerConformance } from '../../../test/providers/conformance.ts';
import { settingsFrom } from '../../../test/providers/settings.ts';
import { createFal, fal } from './index.ts';

function start(FAL_MARK_ATTEMPTS = 'yes') {
  return startSimulated('fal', (url, deps) => {
    const FAL_JWKS_URL = `${url}/.well-known/jwks.json`;
    const urls = { FAL_QUEUE_URL: url, FAL_PLATFORM_URL: url, FAL_JWKS_URL };
    return createFal(settingsFrom(fal, { FAL_API_KEY: 'a-key', FAL_MARK_ATTEMPTS, ...urls }), deps);
  });
}

/** A request that ended with an error is completed too. */
const endedBy = (code: string) => failedWith(code, 'COMPLETED');

providerConformance({
  name: 'fal',
  transport: 'http',
  start,
  unmarked: { 'with marking switched off': () => start('no') },
  find: 'list',
  absence: 'weak',
  callbacks: 'signed',
  refusals: [
    ...codes(request('content_refused'), 'content_policy_violation'),
    ...codes(request('invalid_media'), 'image_too_large', 'unsupported_video_format'),
    ...codes(request('invalid_request'), 'literal_error'),
    ...codes(operator, 'file_download_error'),
    { fault: { status: 429 }, becomes: busy },
    ...REFUSED_BY_STATUS,
  ],
  statuses: [
    says('in the queue', forced('IN_QUEUE'), working),
    says('in progress', forced('IN_PROGRESS'), working),
    says('completed', forced('COMPLETED'), succeeded),
    says(
      'refused because of its content',
      endedBy('content_policy_violation'),
      failed('content_refused', null),
    ),
    says(
      'refused for an input that fal could not fetch',
      endedBy('file_download_error'),
      failed('provider_failed', null),
    ),
    says('not started in time', endedBy('request_timeout'), ownFailure('generation_expired')),
    says('not done in time', endedBy('generation_timeout'), failed('generation_expired', null)),
    says('its runner disconnected', endedBy('runner_disconnected'), ownFailure('provider_failed')),
    says('cancelled', endedBy('client_cancelled'), failed('provider_failed', null)),
  ],
});
