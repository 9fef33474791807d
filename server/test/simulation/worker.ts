import { type Database, statement } from '../../src/database/database.ts';
import { dueTasks, renew } from '../../src/tasks/lease.ts';
import { createSteps } from '../../src/tasks/steps/steps.ts';
import { LEASE_SECONDS } from '../../src/tasks/transitions.ts';
import { type Advance, advance } from '../../src/tasks/worker.ts';
import { quiet } from '../database.ts';
import type { Process } from './scheduler/process.ts';
import { type Thread, within } from './scheduler/scheduler.ts';
import { processOn, type Simulation, stepDepsOf } from './simulation.ts';

interface SimulatedWorker extends Advance {
  process: Process & { db: Database };
}

/** Works on due tasks, one at a time, as long as there is a storm; dies and comes back. */
export async function workWithFaults(simulation: Simulation, thread: Thread): Promise<void> {
  while (simulation.stage === 'faulty') {
    const worker = faultyWorker(simulation, thread);
    const { lifetime } = worker.process;
    if (simulation.settings.renewsLeases)
      startRenewing(simulation, `${thread.name} renewing`, worker);
    await within(lifetime, () => workUntilRestart(simulation, worker));
    simulation.scheduler.end(lifetime);
  }
}

function faultyWorker(simulation: Simulation, thread: Thread): SimulatedWorker {
  const process = processOn(simulation, thread, simulation.scheduler.newLifetime());
  const stopsEarly = simulation.random.chance(0.1); // told to stop, it gives its lease back
  return {
    ...calmWorker(simulation, process),
    stopping: {
      get aborted() {
        return stopsEarly || simulation.stage !== 'faulty';
      },
    },
  };
}

function calmWorker(simulation: Simulation, process: SimulatedWorker['process']): SimulatedWorker {
  const steps = createSteps(stepDepsOf(simulation, process));
  const stopping = { aborted: false };
  return { process, db: process.db, log: quiet, steps, leases: new Map(), stopping };
}

async function workUntilRestart(simulation: Simulation, worker: SimulatedWorker): Promise<void> {
  const { process } = worker;
  for (let restSeconds = 0; ; ) {
    await process.sleep(restSeconds);
    if (simulation.stage !== 'faulty') return;
    const due = await dueIds(simulation, process.db).catch(() => []);
    restSeconds = simulation.random.between(0, due.length > 0 ? 0.5 : 12);
    if (due.length === 0) continue;
    await advance(worker, simulation.random.pick(due)).catch(() => {}); // a task was left
    if (worker.stopping.aborted) return;
  }
}

/** Due tasks in an order that does not depend on their random ids. */
async function dueIds(simulation: Simulation, db: Database): Promise<string[]> {
  const rows = await dueTasks(db);
  const names = rows.map(({ id }) => ({ id, name: simulation.trace.nameOf(id) }));
  return names.sort((a, b) => a.name.localeCompare(b.name)).map(({ id }) => id);
}

function startRenewing(
  simulation: Simulation,
  name: string,
  { process, leases }: SimulatedWorker,
): void {
  simulation.scheduler.start(name, async (thread) => {
    const own = processOn(simulation, thread, process.lifetime);
    await within(process.lifetime, async () => {
      while (!process.lifetime.isOver()) {
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
export async function workToTheEnd(simulation: Simulation, thread: Thread): Promise<void> {
  const process = processOn(simulation, thread, simulation.scheduler.newLifetime());
  const worker = calmWorker(simulation, process);
  const settledAtMs = process.nowMs() + SETTLING_SECONDS * 1000;
  const looks = new Map<string, number>();
  for (;;) {
    const live = await simulation.db.query<{ id: string; phase: string; in_seconds: number }>(
      NEXT_DUE,
    );
    const open = live.filter(({ id, phase }) => phase !== 'held' || !isSeen(looks, id));
    const [next] = open;
    if (!next || (looks.get(next.id) ?? 0) > MAX_LOOKS) break;
    await process.sleep(Math.max(0, next.in_seconds));
    await advance(worker, next.id);
    if (process.nowMs() > settledAtMs) looks.set(next.id, (looks.get(next.id) ?? 0) + 1);
  }
  simulation.scheduler.end(process.lifetime);
}

function isSeen(looks: Map<string, number>, taskId: string): boolean {
  return (looks.get(taskId) ?? 0) >= LAST_LOOKS;
}
