import { type Database, statement } from '../../src/database/database.ts';
import { dueTasks, renew } from '../../src/tasks/lease.ts';
import { createSteps } from '../../src/tasks/steps/steps.ts';
import { LEASE_SECONDS } from '../../src/tasks/transitions.ts';
import { type AdvanceDeps, advance } from '../../src/tasks/worker.ts';
import { quiet } from '../database.ts';
import type { Process } from './process.ts';
import { type Thread, within } from './scheduler.ts';
import { processOn, stepPartsOf, type World } from './world.ts';

interface Hands extends AdvanceDeps {
  process: Process & { db: Database };
}

/** Works on due tasks, one at a time, as long as there is a storm; dies and comes back. */
export async function workThroughStorm(world: World, thread: Thread): Promise<void> {
  while (world.season === 'stormy') {
    const hands = handsOf(world, thread);
    const { life } = hands.process;
    if (world.setting.renewsLeases) startRenewing(world, `${thread.name} renewing`, hands);
    await within(life, () => workUntilRestart(world, hands));
    world.scheduler.end(life);
  }
}

function handsOf(world: World, thread: Thread): Hands {
  const process = processOn(world, thread, world.scheduler.newLife());
  const stopsEarly = world.random.chance(0.1); // told to stop, it gives its lease back
  return {
    ...stillHands(world, process),
    stopping: {
      get aborted() {
        return stopsEarly || world.season !== 'stormy';
      },
    },
  };
}

function stillHands(world: World, process: Hands['process']): Hands {
  const steps = createSteps(stepPartsOf(world, process));
  const stopping = { aborted: false };
  return { process, db: process.db, log: quiet, steps, leases: new Map(), stopping };
}

async function workUntilRestart(world: World, hands: Hands): Promise<void> {
  const { process } = hands;
  for (let restSeconds = 0; ; ) {
    await process.sleep(restSeconds);
    if (world.season !== 'stormy') return;
    const due = await dueIds(world, process.db).catch(() => []);
    restSeconds = world.random.between(0, due.length > 0 ? 0.5 : 12);
    if (due.length === 0) continue;
    await advance(hands, world.random.pick(due)).catch(() => {}); // a task was left
    if (hands.stopping.aborted) return;
  }
}

/** Due tasks in an order that does not depend on their random ids. */
async function dueIds(world: World, db: Database): Promise<string[]> {
  const rows = await dueTasks(db);
  const names = rows.map(({ id }) => ({ id, name: world.trace.nameOf(id) }));
  return names.sort((a, b) => a.name.localeCompare(b.name)).map(({ id }) => id);
}

function startRenewing(world: World, name: string, { process, leases }: Hands): void {
  world.scheduler.start(name, async (thread) => {
    const own = processOn(world, thread, process.life);
    await within(process.life, async () => {
      while (!process.life.isOver()) {
        await own.sleep(LEASE_SECONDS / 3);
        if (leases.size > 0) await renew(own.db, leases).catch(() => {});
      }
    });
  });
}

const NEXT_DUE = statement(
  'simulation_next_due',
  `select id, phase, extract(epoch from
     greatest(due_at, leased_until + interval '1 millisecond') - clock_now())::float8 as in_seconds
   from tasks where due_at is not null order by in_seconds, id`,
);

/** By then a job is over its limit, and every look-up past the provider's lag. */
const SETTLING_SECONDS = 420;
/** A held task that was looked at so often after that will stay so. */
const LAST_LOOKS = 2;
/** One that is not held and still has not ended never will: the verdict says so. */
const MAX_LOOKS = 100;

/** Goes on with all tasks, without faults, until each has ended or is held for good. */
export async function workToTheEnd(world: World, thread: Thread): Promise<void> {
  const process = processOn(world, thread, world.scheduler.newLife());
  const hands = stillHands(world, process);
  const settledAtMs = process.nowMs() + SETTLING_SECONDS * 1000;
  const looks = new Map<string, number>();
  for (;;) {
    const live = await world.db.query<{ id: string; phase: string; in_seconds: number }>(NEXT_DUE);
    const open = live.filter(({ id, phase }) => phase !== 'held' || !isSeen(looks, id));
    const [next] = open;
    if (!next || (looks.get(next.id) ?? 0) > MAX_LOOKS) break;
    await process.sleep(Math.max(0, next.in_seconds));
    await advance(hands, next.id);
    if (process.nowMs() > settledAtMs) looks.set(next.id, (looks.get(next.id) ?? 0) + 1);
  }
  world.scheduler.end(process.life);
}

function isSeen(looks: Map<string, number>, taskId: string): boolean {
  return (looks.get(taskId) ?? 0) >= LAST_LOOKS;
}
