import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSimulator } from '../../../../simulators/kit/process.ts';
import { parseAllowList } from '../../../src/outbound/addresses.ts';
import { callOnce, createPooledCalls } from '../../../src/outbound/call.ts';
import { createGuardedFetch } from '../../../src/outbound/guarded-fetch.ts';
import type { RemoteOptions } from '../../../src/providers/kit/remote.ts';
import type { Provider } from '../../../src/providers/provider.ts';
import type { ProviderSubject } from './subject.ts';

/** What an adapter of a simulated host is created with. */
interface SimulatedHost {
  url: string;
  options: RemoteOptions;
}

/** Starts a simulator with an empty record in its own process, and creates an adapter for it. */
export async function startSimulated(
  name: string,
  createProvider: (host: SimulatedHost) => Provider,
  args: string[] = [],
): Promise<ProviderSubject> {
  const folder = await mkdtemp(path.join(tmpdir(), `${name}-`));
  const simulator = await startSimulator(name, folder, args);
  const { url } = simulator;
  const guardedFetch = createGuardedFetch({ allow: parseAllowList(new URL(url).host) });
  const limits = { submitTimeoutSeconds: 0.7, readTimeoutSeconds: 0.7, maxOutputBytes: 2 ** 24 };
  const calls = { call: callOnce, readCall: createPooledCalls() };
  const options = { ...calls, guardedFetch, now: Date.now, ...limits };
  return {
    provider: createProvider({ url, options }),
    simulator,
    async close() {
      await Promise.all([simulator.kill(), guardedFetch.close()]);
      await rm(folder, { recursive: true });
    },
  };
}
