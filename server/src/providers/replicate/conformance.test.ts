import { TOKEN_WITHOUT_WEBHOOKS } from '../../../../simulators/replicate/replicate.ts';
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
import { settingsFrom } from '../../../test/providers/settings.ts';
import { createReplicate, replicate } from './index.ts';

function start(REPLICATE_API_TOKEN = 'a-token') {
  return startSimulated('replicate', (url, deps) => {
    const env = { REPLICATE_API_TOKEN, REPLICATE_BASE_URL: url };
    return createReplicate(settingsFrom(replicate, env), deps);
  });
}

providerConformance({
  name: 'replicate',
  transport: 'http',
  start,
  unmarked: { 'in a list without webhooks': () => start(TOKEN_WITHOUT_WEBHOOKS) },
  find: 'list',
  absence: 'weak',
  callbacks: 'signed',
  refusals: [
    { fault: { code: 'input.image' }, becomes: request('invalid_media') },
    { fault: { code: 'input.reference_videos.1' }, becomes: request('invalid_media') },
    { fault: { code: 'input.resolution' }, becomes: request('invalid_request') },
    { fault: { code: 'input' }, becomes: request('invalid_request') },
    { fault: { code: 'webhook' }, becomes: operator },
    { fault: { status: 422 }, becomes: operator },
    { fault: { status: 402 }, becomes: operator },
    { fault: { status: 429 }, becomes: { ...busy, retryAfterSeconds: 30 } },
    ...REFUSED_BY_STATUS,
  ],
  statuses: [
    { says: 'starting', changes: forced('starting'), becomes: working },
    { says: 'processing', changes: forced('processing'), becomes: working },
    { says: 'succeeded', changes: forced('succeeded'), becomes: succeeded },
    {
      says: 'refused because of its content',
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
