import { startRig } from '../../../test/providers/comfyui-rig.ts';
import {
  busy,
  failed,
  forced,
  operator,
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
    ...[
      'prompt_outputs_failed_validation',
      'prompt_no_outputs',
      'missing_node_type',
      'invalid_prompt_id',
    ].map((code) => ({ fault: { code }, becomes: operator })),
    ...[401, 403, 404, 405, 413].map((status) => ({ fault: { status }, becomes: operator })),
    { fault: { status: 429 }, becomes: busy },
    { fault: { status: 429, retryAfterSeconds: 7 }, becomes: { ...busy, retryAfterSeconds: 7 } },
  ],
  statuses: [
    { says: 'pending', changes: forced('pending'), becomes: working },
    { says: 'in_progress', changes: forced('in_progress'), becomes: working },
    { says: 'completed', changes: forced('completed'), becomes: succeeded },
    { says: 'failed', changes: forced('failed'), becomes: failed('provider_failed', false) },
    { says: 'cancelled', changes: forced('cancelled'), becomes: failed('provider_failed', false) },
  ],
  find: 'exact',
  absence: 'weak',
  callbacks: 'none',
  takesAnyModel: true,
});
