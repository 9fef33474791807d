import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startSimulator } from '../../../../simulators/kit/process.ts';
import type { RemoteDeps } from '../../../src/providers/kit/remote.ts';
import type { Adapter } from '../../../src/providers/provider.ts';
import { remoteDeps } from '../canned-host.ts';
import type { ProviderSubject } from './subject.ts';

/** Starts a simulator with an empty record in its own process, and creates an adapter for it. */
export async function startSimulated(
  name: string,
  create: (url: string, deps: RemoteDeps) => Adapter,
  args: string[] = [],
): Promise<ProviderSubject> {
  const folder = await mkdtemp(path.join(tmpdir(), `${name}-`));
  const simulator = await startSimulator(name, folder, args);
  const deps = remoteDeps(simulator.url, { submitTimeoutSeconds: 0.7, maxOutputBytes: 2 ** 24 });
  return {
    provider: create(simulator.url, deps),
    simulator,
    async close() {
      await Promise.all([simulator.kill(), deps.guardedFetch.close()]);
      await rm(folder, { recursive: true });
    },
  };
}
