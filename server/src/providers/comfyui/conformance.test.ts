import { startRig } from '../../../test/providers/comfyui-rig.ts';
import {
  busy,
  failed,
  operator,
  succeeded,
  working,
} from '../../../test/providers/conformance/meanings.ts';
import { type ProviderSubject, providerConformance } from '../../../test/providers/conformance.ts';

const HOUR_MS = 3_600_000;

/** Its attempts look an hour old: older than anything that the server can remember. */
async function start(): Promise<ProviderSubject> {
  const rig = await startRig(['--job-seconds', '1']);
  const now = () => Date.now() + HOUR_MS;
  const provider = await rig.providerWith({ timeoutSeconds: 1.5, now });
  return { provider, simulator: rig.simulator, close: () => rig.stop() };
}

providerConformance({
  name: 'comfyui',
  transport: 'http',
  start,
  unmarked: {},
  refusals: [
    { fault: { code: 'prompt_outputs_failed_validation' }, becomes: operator },
    { fault: { code: 'prompt_no_outputs' }, becomes: operator },
    { fault: { code: 'missing_node_type' }, becomes: operator },
    { fault: { code: 'invalid_prompt_id' }, becomes: operator },
    { fault: { status: 401 }, becomes: operator },
    { fault: { status: 403 }, becomes: operator },
    { fault: { status: 404 }, becomes: operator },
    { fault: { status: 405 }, becomes: operator },
    { fault: { status: 413 }, becomes: operator },
    { fault: { status: 429 }, becomes: busy },
    {
      fault: { status: 429, retryAfterSeconds: 7 },
      becomes: { ...busy, retryAfterSeconds: 7 },
    },
  ],
  statuses: [
    { says: 'pending', changes: { forcedStatus: 'pending' }, becomes: working },
    { says: 'in_progress', changes: { forcedStatus: 'in_progress' }, becomes: working },
    { says: 'completed', changes: { forcedStatus: 'completed' }, becomes: succeeded },
    {
      says: 'failed',
      changes: { forcedStatus: 'failed' },
      becomes: failed('provider_failed', false),
    },
    {
      says: 'cancelled',
      changes: { forcedStatus: 'cancelled' },
      becomes: failed('provider_failed', false),
    },
  ],
  find: 'exact',
  absence: 'weak',
  callbacks: 'none',
});
