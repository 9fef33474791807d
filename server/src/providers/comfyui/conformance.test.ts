import { startRig } from '../../../test/providers/comfyui-rig.ts';
import {
  busy,
  codes,
  failed,
  forced,
  operator,
  says,
  succeeded,
  working,
} from '../../../test/providers/conformance/meanings.ts';
import { type ProviderSubject, providerConformance } from '../../../test/providers/conformance.ts';

const HOUR_MS = 3_600_000;

/** The attempts look an hour old: older than anything that the server can remember. */
async function start(): Promise<ProviderSubject> {
  const rig = await startRig(['--job-seconds', '1']);
  const now = () => Date.now() + HOUR_MS;
  const provider = await rig.providerWith({ submitTimeoutSeconds: 1.5, now });
  return { provider, simulator: rig.simulator, close: () => rig.stop() };
}

providerConformance({
  name: 'comfyui',
  transport: 'http',
  start,
  unmarked: {},
  refusals: [
    ...codes(operator, 'prompt_outputs_failed_validation', 'prompt_no_outputs'),
    ...codes(operator, 'missing_node_type', 'invalid_prompt_id'),
    ...[401, 403, 404, 405, 413].map((status) => ({ fault: { status }, becomes: operator })),
    { fault: { status: 429 }, becomes: busy },
    { fault: { status: 429, retryAfterSeconds: 7 }, becomes: { ...busy, retryAfterSeconds: 7 } },
  ],
  statuses: [
    says('pending', forced('pending'), working),
    says('in_progress', forced('in_progress'), working),
    says('completed', forced('completed'), succeeded),
    says('failed', forced('failed'), failed('provider_failed', false)),
    says('cancelled', forced('cancelled'), failed('provider_failed', false)),
  ],
  find: 'exact',
  absence: 'weak',
  callbacks: 'none',
  takesAnyModel: true,
});
