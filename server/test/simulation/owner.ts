import { beginCancel, NotCancellable } from '../../src/attempts/cancel.ts';
import { askForCancels } from '../../src/attempts/cancel-requests.ts';
import { deleteOutput } from '../../src/attempts/erase.ts';
import type { Database } from '../../src/database/database.ts';
import { refillTestCredits } from '../../src/ledger/test-credits.ts';
import { readTasks } from '../../src/tasks/task.ts';
import { createEndpoint, deleteEndpoint, updateEndpoint } from '../../src/webhooks/endpoints.ts';
import { EVENT_TYPES } from '../../src/webhooks/events.ts';
import { quiet } from '../database.ts';
import { databaseOf } from './database.ts';
import type { Process } from './scheduler/process.ts';
import { type Thread, within } from './scheduler/scheduler.ts';
import { processOn, providersOn, type Simulation } from './simulation.ts';

function count({ acts }: Simulation, act: string): void {
  acts.set(act, (acts.get(act) ?? 0) + 1);
}

/**
 * Cancels a task, or deletes its video.
 * @returns whether the response said that the task is refunded; undefined when there was none
 */
export async function actOn(
  simulation: Simulation,
  db: Database,
  taskId: string,
): Promise<boolean | undefined> {
  const [task] = await readTasks(db, [taskId]).catch(() => []);
  const objectId = task?.output_object_id;
  if (objectId && simulation.random.chance(0.6)) {
    await deleteOutput(db, objectId).catch(() => {});
    count(simulation, 'video deleted');
    return undefined;
  }
  const options = { cause: { cancelled_by: 'customer' as const }, alsoHeldOutcome: false };
  try {
    const begun = await db.transaction((tx) => beginCancel(tx, taskId, options));
    count(simulation, `cancel ${begun.cancel}${begun.changed ? '' : ' again'}`);
    return begun.cancel === 'done';
  } catch (error) {
    if (error instanceof NotCancellable) count(simulation, `cancel ${error.obstacle}`);
    return undefined;
  }
}

/** Creates endpoints, switches them off and on and deletes them, and refills the test credits. */
export async function runOwner(simulation: Simulation, thread: Thread): Promise<void> {
  const { scheduler, random, accountId } = simulation;
  const own = processOn(simulation, thread, scheduler.newLifetime());
  while (simulation.stage === 'faulty') {
    await own.sleep(random.between(2, 40));
    const { db, lifetime } = processOn(simulation, thread, scheduler.newLifetime());
    const act = random.chance(0.4)
      ? () => refillTestCredits(db, accountId).then(() => count(simulation, 'refill'))
      : () => changeEndpoints(simulation, db);
    await within(lifetime, () => act().catch(() => {}));
    scheduler.end(lifetime);
  }
  scheduler.end(own.lifetime);
}

/** A new endpoint is switched off and on, or deleted, while tasks end. */
async function changeEndpoints({ random, accountId }: Simulation, db: Database): Promise<void> {
  const mode = random.pick(['live', 'test'] as const);
  const owner = { accountId, mode, by: 'a test' };
  const choice = { url: 'https://example.com/', description: null, events: [...EVENT_TYPES] };
  const { id } = await createEndpoint(db, owner, choice);
  await updateEndpoint(db, owner, id, { enabled: random.chance(0.5) });
  if (random.chance(0.5)) await deleteEndpoint(db, owner, id);
}

/** Asks the providers to cancel jobs, as workers do; restarts after each crash. */
export async function passOnCancels(simulation: Simulation, thread: Thread): Promise<void> {
  const { scheduler, random, trace } = simulation;
  const own = processOn(simulation, thread, scheduler.newLifetime());
  while (simulation.stage !== 'over') {
    await own.sleep(random.between(2, 12));
    const worker = oneAfterTheOther(processOn(simulation, thread, scheduler.newLifetime()));
    const db = databaseOf(worker, simulation.db, trace);
    const deps = { db, log: quiet, providers: providersOn(simulation, worker) };
    await within(worker.lifetime, () => askForCancels(deps).catch(() => {}));
    scheduler.end(worker.lifetime);
  }
  scheduler.end(own.lifetime);
}

/** A process whose units of work wait for each other: a thread can't wait for two turns at once. */
function oneAfterTheOther(process: Process): Process {
  let last: Promise<unknown> = Promise.resolve();
  return {
    ...process,
    unit(unit, work) {
      const next = last.then(() => process.unit(unit, work));
      last = next.catch(() => {});
      return next;
    },
  };
}
