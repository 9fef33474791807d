import { TOKEN_WITHOUT_WEBHOOKS } from '../../../../simulators/replicate/replicate.ts';
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
    ...codes(request('invalid_media'), 'input.image', 'input.reference_videos.1'),
    ...codes(request('invalid_request'), 'input.resolution', 'input'),
    ...codes(operator, 'webhook'),
    { fault: { status: 422 }, becomes: operator },
    { fault: { status: 402 }, becomes: operator },
    { fault: { status: 429 }, becomes: { ...busy, retryAfterSeconds: 30 } },
    ...REFUSED_BY_STATUS,
  ],
  statuses: [
    says('starting', forced('starting'), working),
    says('processing', forced('processing'), working),
    says('succeeded', forced('succeeded'), succeeded),
    says('refused because of its content', failedWith('E005'), failed('content_refused', null)),
    says('failed', failedWith('E001'), failed('provider_failed', null)),
    says('aborted before it started', forced('aborted'), failed('generation_expired', false)),
    says('canceled while it ran', forced('canceled'), failed('generation_expired', true)),
  ],
});
