import { createAccount } from '../../src/accounts/accounts.ts';
import type { Database } from '../../src/database/database.ts';
import type { ScratchDirectory } from '../../src/kernel/scratch-directory.ts';
import { grant } from '../../src/ledger/ledger.ts';
import { createRandom, type Random } from '../random.ts';
import { PRICE } from '../task-fixtures.ts';
import { callBack, operate } from './bystanders.ts';
import { beClient, drawOrders } from './client.ts';
import { createCloud, DAYS, drawPersonality } from './cloud.ts';
import type { SimulatedServer } from './database.ts';
import { createScheduler } from './scheduler.ts';
import { createTellings } from './tellings.ts';
import { createTrace } from './trace.ts';
import { judge, type Verdict } from './verdict.ts';
import { workThroughStorm, workToTheEnd } from './worker.ts';
import { processOn, type Setting, type World } from './world.ts';

/** What came of one history. */
export interface History extends Verdict {
  seed: number;
  turns: number;
  trace: string[];
}

/**
 * Lives through one history: everything that is left to chance comes from the seed, so that the
 * same seed lives through the same one again.
 */
export async function live(
  server: SimulatedServer,
  scratch: ScratchDirectory,
  seed: number,
): Promise<History> {
  await server.clear();
  const random = createRandom(seed);
  const scheduler = createScheduler(random, random.pick([1, 4, 20]));
  const { nowMs } = scheduler;
  const trace = createTrace(nowMs);
  const db = server.at(nowMs);
  const credits = PRICE.credits * random.pick([3, 20, 20]);
  const accountId = await makeAccount(db, seed, credits);
  const cloud = createCloud(drawPersonality(random));
  const basis = { random, scheduler, trace, cloud, db, scratch, accountId };
  const setting = drawSetting(random);
  const tellings = createTellings();
  const world: World = { ...basis, setting, tellings, shelf: new Set(), season: 'stormy' };
  trace.note('world', `${cloud.personality.name} ${JSON.stringify(setting)}`);
  begin(world);
  await scheduler.run();
  const verdict = await judge(world, credits);
  return { ...verdict, seed, turns: scheduler.turns(), trace: trace.lines() };
}

async function makeAccount(db: Database, seed: number, credits: number): Promise<string> {
  const accountId = await createAccount(db, `${seed}@example.com`);
  await grant(db, { accountId, credits, kind: 'paid', reference: `seed-${seed}` });
  return accountId;
}

function drawSetting(random: Random): Setting {
  const crash = random.pick([0, 0.004, 0.015, 0.03]);
  const error = random.pick([0, 0.01, 0.03, 0.1]);
  return {
    createWaitSeconds: random.pick([0, 6, 20, 90]),
    faults: { crash_before: crash, refused: error, reply_lost: error, crash_after: crash },
    day: random.pick(DAYS),
    workers: random.whole(2, 3),
    renewsLeases: random.chance(0.6),
    hasOperator: random.chance(0.3),
  };
}

function begin(world: World): void {
  const { scheduler, random, setting } = world;
  const orders = drawOrders(random, random.whole(3, 6));
  const half = Math.ceil(orders.length / 2);
  const shared = random.chance(0.5);
  const clients = [shared ? orders : orders.slice(0, half), shared ? orders : orders.slice(half)];
  let shopping = clients.length;
  for (const [i, own] of clients.entries()) {
    scheduler.start(`client${i + 1}`, async (thread) => {
      await beClient(world, thread, own).finally(() => (shopping -= 1));
    });
  }
  const workers = Array.from({ length: setting.workers }, (_, i) => `worker${i + 1}`);
  let working = workers.length;
  for (const name of workers) {
    scheduler.start(name, async (thread) => {
      await workThroughStorm(world, thread).finally(() => (working -= 1));
    });
  }
  scheduler.start('provider', (thread) => callBack(world, thread));
  if (setting.hasOperator) scheduler.start('operator', (thread) => operate(world, thread));
  scheduler.start('calm', async (thread) => {
    const own = processOn(world, thread, scheduler.newLife());
    while (shopping > 0) await own.sleep(1);
    await own.sleep(random.between(0, 150));
    world.season = 'calm';
    world.trace.note('world', 'the storm is over');
    while (working > 0) await own.sleep(1);
    await workToTheEnd(world, thread);
    world.season = 'over';
    scheduler.end(own.life);
  });
}
