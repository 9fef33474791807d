import {
  busy,
  failed,
  failedWith,
  forced,
  operator,
  REFUSED_BY_STATUS,
  request,
  succeeded,
  working,
} from '../../../test/providers/conformance/meanings.ts';
import { startSimulated } from '../../../test/providers/conformance/simulated.ts';
import { providerConformance } from '../../../test/providers/conformance.ts';
import { createFalProvider } from './fal.ts';
import { FAL_MODELS } from './model-input.ts';

function start(markWithEndUserId = true) {
  return startSimulated('fal', ({ url, options }) =>
    createFalProvider({
      ...options,
      apiKey: 'a-key',
      models: FAL_MODELS,
      markWithEndUserId,
      queueUrl: url,
      platformUrl: url,
      jwksUrl: `${url}/.well-known/jwks.json`,
    }),
  );
}

providerConformance({
  name: 'fal',
  transport: 'http',
  start,
  unmarked: { 'with marking switched off': () => start(false) },
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
      becomes: failed('generation_expired', false),
    },
    {
      says: 'its runner disconnected',
      changes: failedWith('runner_disconnected', 'COMPLETED'),
      becomes: failed('provider_failed', false),
    },
    {
      says: 'cancelled',
      changes: failedWith('client_cancelled', 'COMPLETED'),
      becomes: failed('provider_failed', null),
    },
  ],
});
