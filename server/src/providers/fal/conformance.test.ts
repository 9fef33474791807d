import {
  busy,
  failed,
  operator,
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

const forced = (forcedStatus: string) => ({ forcedStatus });
const failedWith = (code: string) => ({
  ...forced('COMPLETED'),
  quirks: [{ kind: 'fails', code }],
});

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
    { says: 'completed', changes: forced('COMPLETED'), becomes: succeeded },
    {
      says: 'refused because of its content',
      changes: failedWith('content_policy_violation'),
      becomes: failed('content_refused', null),
    },
    {
      says: 'refused for an input that fal could not fetch',
      changes: failedWith('file_download_error'),
      becomes: failed('provider_failed', null),
    },
    {
      says: 'not started in time',
      changes: failedWith('request_timeout'),
      becomes: failed('generation_expired', false),
    },
    {
      says: 'its runner disconnected',
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
