import { setTimeout as delay } from 'node:timers/promises';
import { openBenchSetup } from '../bench-setup.ts';
import { cpuSeconds, residentMemory } from '../process-usage.ts';

/** After that, the work and the garbage of the start are over. */
const SETTLE_SECONDS = 15;
const SECONDS = 20;

/** The memory, and the share of one core, that an idle service uses without its database. */
export async function measureIdle() {
  await using bench = await openBenchSetup();
  await using service = await bench.startService({ ROLES: 'api,worker' });
  await delay(SETTLE_SECONDS * 1000);
  const before = await cpuSeconds(service.pid);
  const start = performance.now();
  await delay(SECONDS * 1000);
  const elapsedSeconds = (performance.now() - start) / 1000;
  const cpuShare = ((await cpuSeconds(service.pid)) - before) / elapsedSeconds;
  return { cpuShare, residentBytes: (await residentMemory(service.pid)).nowBytes };
}
