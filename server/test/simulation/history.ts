import { createAccount } from '../../src/accounts/accounts.ts';
import type { Database } from '../../src/database/database.ts';
import type { ScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { grant } from '../../src/ledger/ledger.ts';
import { openTestBalance } from '../../src/ledger/test-credits.ts';
import type { CreditKind } from '../../src/ledger/transfer.ts';
import { createEndpoint } from '../../src/webhooks/endpoints.ts';
import { EVENT_TYPES } from '../../src/webhooks/events.ts';
import { createRandom, type Random } from '../random.ts';
import { PRICE } from '../task-fixtures.ts';
import { passOnCancels, runOperator, runOwner, runReviewer, sendCallbacks } from './actors.ts';
import { checkHistory, KEPT } from './checks.ts';
import { drawRequests, runClient } from './client.ts';
import type { SimulatedServer } from './database.ts';
import {
  createProviderState,
  drawRoute,
  SCRIPTED_PROFILE,
  SUBMIT_WEIGHTS,
} from './provider-state.ts';
import { createScheduler } from './scheduler/scheduler.ts';
import { createTrace } from './scheduler/trace.ts';
import {
  createObservations,
  inProcess,
  type Simulation,
  type SimulationSettings,
} from './simulation.ts';
import { workToTheEnd, workWithFaults } from './worker.ts';

/** The result of one history. */
export type SimulatedHistory = Awaited<ReturnType<typeof runHistory>>;

/**
 * Runs one history. Everything random comes from the seed, so that the same seed gives the same
 * history again.
 */
export async function runHistory(server: SimulatedServer, scratch: ScratchDirectory, seed: number) {
  await server.clear();
  const random = createRandom(seed);
  const scheduler = createScheduler(random, random.pick([1, 4, 20]));
  const { nowMs } = scheduler;
  const trace = createTrace(nowMs);
  const db = server.at(nowMs);
  const paid = PRICE.credits * random.pick([3, 20, 20]);
  const credits = { paid, promotional: random.pick([0, 100, PRICE.credits, 600]) };
  const accountId = await makeAccount(db, seed, credits);
  const route = drawRoute(random).map(createProviderState);
  const testState = createProviderState(SCRIPTED_PROFILE);
  const basis = { random, scheduler, trace, route, testState, db, scratch, accountId };
  // Not drawn, so that the histories of other seeds stay as they are.
  const settings = { ...drawSettings(random), isModerated: seed % 6 === 3 };
  const observations = createObservations();
  const simulation: Simulation = {
    ...basis,
    settings,
    observations,
    storedObjects: new Set(),
    acts: new Map(),
    stage: 'faulty',
  };
  const names = route.map(({ profile }) => profile.name).join(', ');
  trace.note('simulation', `${names} ${JSON.stringify(settings)}`);
  begin(simulation);
  await scheduler.run();
  const result = await checkHistory(simulation, credits);
  return { ...result, seed, turns: scheduler.turns(), trace: trace.lines() };
}

async function makeAccount(
  db: Database,
  seed: number,
  given: Record<CreditKind, number>,
): Promise<string> {
  const accountId = await createAccount(db, `${seed}@example.com`);
  for (const kind of ['paid', 'promotional'] as const) {
    const credits = given[kind];
    if (credits > 0) await grant(db, { accountId, credits, kind, reference: `${kind}-${seed}` });
  }
  await openTestBalance(db, accountId);
  const choice = { url: 'https://example.com/', description: KEPT, events: [...EVENT_TYPES] };
  for (const mode of ['live', 'test'] as const) {
    await createEndpoint(db, { accountId, mode, by: 'a test' }, choice);
  }
  return accountId;
}

function drawSettings(random: Random): Omit<SimulationSettings, 'isModerated'> {
  const crash = random.pick([0, 0.004, 0.015, 0.03]);
  const error = random.pick([0, 0.01, 0.03, 0.1]);
  return {
    createWaitSeconds: random.pick([0, 6, 20, 90]),
    faults: { crash_before: crash, refused: error, response_lost: error, crash_after: crash },
    submitWeights: random.pick(SUBMIT_WEIGHTS),
    workers: random.whole(2, 3),
    renewsLeases: random.chance(0.6),
    hasOperator: random.chance(0.3),
  };
}

function begin(simulation: Simulation): void {
  const { scheduler, random, settings } = simulation;
  const requests = drawRequests(random, random.whole(3, 6));
  const half = Math.ceil(requests.length / 2);
  const shared = random.chance(0.5);
  const clients = [
    shared ? requests : requests.slice(0, half),
    shared ? requests : requests.slice(half),
  ];
  let activeClients = clients.length;
  for (const [i, own] of clients.entries()) {
    scheduler.start(`client${i + 1}`, async (thread) => {
      await runClient(simulation, thread, own).finally(() => (activeClients -= 1));
    });
  }
  const workers = Array.from({ length: settings.workers }, (_, i) => `worker${i + 1}`);
  let activeWorkers = workers.length;
  for (const name of workers) {
    scheduler.start(name, async (thread) => {
      await workWithFaults(simulation, thread).finally(() => (activeWorkers -= 1));
    });
  }
  scheduler.start('provider', (thread) => sendCallbacks(simulation, thread));
  scheduler.start('cancels', (thread) => passOnCancels(simulation, thread));
  scheduler.start('owner', (thread) => runOwner(simulation, thread));
  if (settings.hasOperator)
    scheduler.start('operator', (thread) => runOperator(simulation, thread));
  if (settings.isModerated)
    scheduler.start('reviewer', (thread) => runReviewer(simulation, thread));
  scheduler.start('calm', (thread) =>
    inProcess(simulation, thread, async (own) => {
      while (activeClients > 0) await own.sleep(1);
      await own.sleep(random.between(0, 150));
      simulation.stage = 'calm';
      simulation.trace.note('simulation', 'no more faults');
      while (activeWorkers > 0) await own.sleep(1);
      await workToTheEnd(simulation, thread);
      simulation.stage = 'over';
    }),
  );
}
