import { receiveCallback } from '../../src/attempts/callback.ts';
import { checkOrphans } from '../../src/attempts/orphans.ts';
import { quiet } from '../database.ts';
import { LINKS, LOST_WAKE_UPS } from './fake-deps.ts';
import type { PendingCallback } from './provider-state.ts';
import { type Thread, within } from './scheduler/scheduler.ts';
import { processOn, providerOn, type Simulation } from './simulation.ts';

/** Sends the provider's callbacks when they are due; most of those that fail are retried. */
export async function sendCallbacks(simulation: Simulation, thread: Thread): Promise<void> {
  const { providerState, scheduler, random } = simulation;
  const own = processOn(simulation, thread, scheduler.newLifetime());
  while (simulation.stage !== 'over') {
    await own.sleep(random.between(1, 5));
    const due = providerState.callbacks.filter(({ atMs }) => atMs <= own.nowMs());
    for (const callback of due) {
      providerState.callbacks = providerState.callbacks.filter((other) => other !== callback);
      const isReceived = await deliver(simulation, thread, callback);
      const again = { ...callback, atMs: own.nowMs() + 20_000 };
      if (!isReceived && random.chance(0.8)) providerState.callbacks.push(again);
    }
  }
  scheduler.end(own.lifetime);
}

async function deliver(
  simulation: Simulation,
  thread: Thread,
  callback: PendingCallback,
): Promise<boolean> {
  const { providerState, scheduler, random, trace } = simulation;
  const { attemptId, jobId, isGenuine } = callback;
  const api = processOn(simulation, thread, scheduler.newLifetime());
  const provider = providerOn(simulation, api);
  const deps = {
    db: api.db,
    log: quiet,
    links: LINKS,
    providers: new Map([[provider.name, provider]]),
    wakeUps: LOST_WAKE_UPS,
  };
  const incoming = {
    provider: providerState.profile.name,
    segment: random.chance(0.05) ? 'unknown' : attemptId,
    body: Buffer.from(JSON.stringify({ job: jobId, isGenuine })),
    headers: {},
  };
  trace.note(thread.name, `calls about ${trace.nameOf(attemptId)}: ${jobId}`);
  const result = await within(api.lifetime, () =>
    receiveCallback(deps, incoming).catch(() => undefined),
  );
  if (result && random.chance(0.2)) {
    await within(api.lifetime, () => checkOrphans(deps).catch(() => {}));
  }
  scheduler.end(api.lifetime);
  return result !== undefined;
}
