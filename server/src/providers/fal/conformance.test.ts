import {
  busy,
  failed,
  failedWith,
  forced,
  operator,
  ownFailure,
  REFUSED_BY_STATUS,
  request,
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

providerConformance({
  name: 'fal',
  transport: 'http',
  start,
  unmarked: { 'with marking switched off': () => start('no') },
  find: 'list',
  absence: 'weak',
  callbacks: 'signed',
  refusals: [
    { fault: { code: 'content_policy_violation' }, becomes: request('content_refused') },
    { fault: { code: 'image_too_large' }, becomes: request('invalid_media') },
    { fault: { code: 'unsupported_video_format' }, becomes: request('invalid_media') },
    { fault: { code: 'literal_error' }, becomes: request('invalid_request') },
    { fault: { code: 'file_download_error' }, becomes: operator },
    { fault: { status: 429 }, becomes: busy },
    ...REFUSED_BY_STATUS,
  ],
  statuses: [
    { says: 'in the queue', changes: forced('IN_QUEUE'), becomes: working },
    { says: 'in progress', changes: forced('IN_PROGRESS'), becomes: working },
    { says: 'completed', changes: forced('COMPLETED'), becomes: succeeded },
    {
      says: 'refused because of its content',
      changes: failedWith('content_policy_violation', 'COMPLETED'),
      becomes: failed('content_refused', null),
    },
    {
      says: 'refused for an input that fal could not fetch',
      changes: failedWith('file_download_error', 'COMPLETED'),
      becomes: failed('provider_failed', null),
    },
    {
      says: 'not started in time',
      changes: failedWith('request_timeout', 'COMPLETED'),
      becomes: ownFailure('generation_expired'),
    },
    {
      says: 'not done in time',
      changes: failedWith('generation_timeout', 'COMPLETED'),
      becomes: failed('generation_expired', null),
    },
    {
      says: 'its runner disconnected',
      changes: failedWith('runner_disconnected', 'COMPLETED'),
      becomes: ownFailure('provider_failed'),
    },
    {
      says: 'cancelled',
      changes: failedWith('client_cancelled', 'COMPLETED'),
      becomes: failed('provider_failed', null),
    },
  ],
});
