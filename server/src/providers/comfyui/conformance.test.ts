import { type ProviderSubject, providerConformance } from '../conformance.ts';
import { startRig } from './rig.ts';

const HOUR_MS = 3_600_000;

/** Its attempts look an hour old: longer than the server can have remembered anything. */
async function start(): Promise<ProviderSubject> {
  const rig = await startRig(['--job-seconds', '1']);
  const now = () => Date.now() + HOUR_MS;
  const provider = await rig.providerWith({ timeoutSeconds: 1.5, now });
  return { provider, simulator: rig.simulator, close: () => rig.stop() };
}

const failed = { kind: 'failed', code: 'provider_failed', billed: false } as const;

providerConformance({
  name: 'comfyui',
  start,
  refusals: [
    { fault: { code: 'prompt_outputs_failed_validation' }, becomes: { fault: 'operator' } },
    { fault: { code: 'prompt_no_outputs' }, becomes: { fault: 'operator' } },
    { fault: { code: 'missing_node_type' }, becomes: { fault: 'operator' } },
    { fault: { code: 'invalid_prompt_id' }, becomes: { fault: 'operator' } },
    { fault: { status: 401 }, becomes: { fault: 'operator' } },
    { fault: { status: 403 }, becomes: { fault: 'operator' } },
    { fault: { status: 404 }, becomes: { fault: 'operator' } },
    { fault: { status: 405 }, becomes: { fault: 'operator' } },
    { fault: { status: 413 }, becomes: { fault: 'operator' } },
    { fault: { status: 429 }, becomes: { fault: 'busy' } },
    {
      fault: { status: 429, retryAfterSeconds: 7 },
      becomes: { fault: 'busy', retryAfterSeconds: 7 },
    },
  ],
  statuses: [
    { says: 'pending', changes: { forcedStatus: 'pending' }, becomes: { kind: 'working' } },
    { says: 'in_progress', changes: { forcedStatus: 'in_progress' }, becomes: { kind: 'working' } },
    { says: 'completed', changes: { forcedStatus: 'completed' }, becomes: { kind: 'succeeded' } },
    { says: 'failed', changes: { forcedStatus: 'failed' }, becomes: failed },
    { says: 'cancelled', changes: { forcedStatus: 'cancelled' }, becomes: failed },
  ],
  absence: 'weak',
  callsBack: false,
});
