import { type Database, statement } from '../../src/database/database.ts';
import { release, renew } from '../../src/tasks/lease.ts';
import type { Task } from '../../src/tasks/task.ts';
import { LEASE_SECONDS } from '../../src/tasks/transitions.ts';
import { claimDue, poolOf, WORKER_POOLS, type WorkerPool } from '../../src/worker/claim.ts';
import { createSteps } from '../../src/worker/steps.ts';
import { type AdvanceDeps, advance } from '../../src/worker/worker.ts';
import { quiet } from '../database.ts';
import { shuffled } from '../random.ts';
import { claim } from '../task-fixtures.ts';
import type { Process } from './scheduler/process.ts';
import { type Thread, within } from './scheduler/scheduler.ts';
import {
  allStates,
  inProcess,
  namesOf,
  processOn,
  type Simulation,
  stepDepsOf,
} from './simulation.ts';

interface SimulatedWorker extends AdvanceDeps {
  process: Process & { db: Database };
}

/** Works on due tasks, one at a time, while there are faults; restarts after each crash. */
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
  const stopsEarly = simulation.random.chance(0.1); // as at shutdown: it gives its lease back
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
  for (let pauseSeconds = 0; ; ) {
    await process.sleep(pauseSeconds);
    if (simulation.stage !== 'faulty') return;
    const claimed = await claimSome(simulation, process.db).catch(() => undefined);
    pauseSeconds = simulation.random.between(0, claimed ? 0.5 : 12);
    for (const task of claimed?.tasks ?? []) {
      await work(simulation, worker, task, claimed?.pool).catch(() => {}); // a fault ended it
    }
    if (claimed && worker.stopping.aborted) return;
  }
}

/** Works on a task; gives back its lease for its next step, or keeps it, as a worker may. */
async function work(
  { random }: Simulation,
  worker: SimulatedWorker,
  task: Task,
  pool = poolOf(task),
): Promise<void> {
  let next = await advance(worker, task, pool);
  while (next && !worker.stopping.aborted && random.chance(0.5)) {
    next = await advance(worker, next, poolOf(next));
  }
  if (next) await release(worker.db, next);
}

/** A batch of due tasks of the first pool that has some; the pools come in a random order. */
async function claimSome(
  simulation: Simulation,
  db: Database,
): Promise<{ pool: WorkerPool; tasks: Task[] } | undefined> {
  const { random, trace } = simulation;
  const slots = random.whole(1, 3);
  const limits = new Map(namesOf(allStates(simulation)).map((name) => [name, slots]));
  for (const pool of shuffled(WORKER_POOLS, random)) {
    const tasks = await claimDue(db, pool, { slots, limits, accountLimit: random.whole(1, 4) });
    // In an order that does not depend on their random ids.
    tasks.sort((a, b) => trace.nameOf(a.id).localeCompare(trace.nameOf(b.id)));
    if (tasks.length > 0) return { pool, tasks };
  }
  return undefined;
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

interface DueTask {
  id: string;
  phase: string;
  in_seconds: number;
}

const NEXT_DUE = statement(
  'simulation_next_due',
  `select id, phase, extract(epoch from
     greatest(due_at, leased_until + interval '1 millisecond') - clock_now())::float8 as in_seconds
   from tasks where due_at is not null order by in_seconds, id`,
);

/** After this time, every job is past its limit, and every find past the provider's lag. */
const SETTLING_SECONDS = 420;
/** A task that is still held after so many steps stays held. */
const HELD_STEPS = 2;
/** A task that is not held and has not ended after so many never ends; the checks report it. */
const MAX_STEPS = 100;

/** Works on all tasks, without faults, until each has ended or stays held. */
export async function workToTheEnd(simulation: Simulation, thread: Thread): Promise<void> {
  await inProcess(simulation, thread, async (process) => {
    const worker = calmWorker(simulation, process);
    const settledAtMs = process.nowMs() + SETTLING_SECONDS * 1000;
    const steps = new Map<string, number>();
    const stepsOf = (id: string) => steps.get(id) ?? 0;
    for (;;) {
      const live = await simulation.db.query<DueTask>(NEXT_DUE);
      const next = live.find(({ id, phase }) => phase !== 'held' || stepsOf(id) < HELD_STEPS);
      if (!next || stepsOf(next.id) > MAX_STEPS) break;
      await process.sleep(Math.max(0, next.in_seconds));
      const task = await claim(process.db, next.id);
      if (task) await work(simulation, worker, task);
      if (process.nowMs() > settledAtMs) steps.set(next.id, stepsOf(next.id) + 1);
    }
  });
}
