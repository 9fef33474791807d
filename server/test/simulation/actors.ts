import { receiveCallback } from '../../src/attempts/callback.ts';
import { beginCancel, NotCancellable } from '../../src/attempts/cancel.ts';
import { askForCancels } from '../../src/attempts/cancel-requests.ts';
import { deleteOutput } from '../../src/attempts/erase.ts';
import { checkOrphans } from '../../src/attempts/orphans.ts';
import { type Database, statement } from '../../src/database/database.ts';
import { UsageError } from '../../src/kernel/errors.ts';
import { refillTestCredits } from '../../src/ledger/test-credits.ts';
import { decideReview } from '../../src/moderation/review.ts';
import { type OperatorDecision, reconcile } from '../../src/operator/reconcile.ts';
import { readTasks } from '../../src/tasks/task.ts';
import { createEndpoint, deleteEndpoint, updateEndpoint } from '../../src/webhooks/endpoints.ts';
import { EVENT_TYPES } from '../../src/webhooks/events.ts';
import { quiet } from '../database.ts';
import { databaseOf } from './database.ts';
import { LINKS, LOST_WAKE_UPS } from './fake-deps.ts';
import { hasRun, type PendingCallback, type ProviderState } from './provider-state.ts';
import type { Process } from './scheduler/process.ts';
import type { Thread } from './scheduler/scheduler.ts';
import { allJobs, inProcess, providersOn, type Simulation } from './simulation.ts';

/** Sends the provider's callbacks when they are due; most of those that fail are retried. */
export function sendCallbacks(simulation: Simulation, thread: Thread): Promise<void> {
  const { random, route } = simulation;
  return inProcess(simulation, thread, async (own) => {
    while (simulation.stage !== 'over') {
      await own.sleep(random.between(1, 5));
      for (const state of route) {
        const due = state.callbacks.filter(({ atMs }) => atMs <= own.nowMs());
        for (const callback of due) {
          state.callbacks = state.callbacks.filter((other) => other !== callback);
          const isReceived = await deliver(simulation, thread, state, callback);
          const again = { ...callback, atMs: own.nowMs() + 20_000 };
          if (!isReceived && random.chance(0.8)) state.callbacks.push(again);
        }
      }
    }
  });
}

async function deliver(
  simulation: Simulation,
  thread: Thread,
  providerState: ProviderState,
  { attemptId, jobId, isGenuine }: PendingCallback,
): Promise<boolean> {
  const { random, trace } = simulation;
  const incoming = {
    provider: providerState.profile.name,
    segment: random.chance(0.05) ? 'unknown' : attemptId,
    body: Buffer.from(JSON.stringify({ job: jobId, isGenuine })),
    headers: {},
  };
  trace.note(thread.name, `calls about ${trace.nameOf(attemptId)}: ${jobId}`);
  const result = await inProcess(simulation, thread, async (api) => {
    const providers = providersOn(simulation, api);
    const deps = { db: api.db, log: quiet, links: LINKS, providers, wakeUps: LOST_WAKE_UPS };
    const received = await receiveCallback(deps, incoming).catch(() => undefined);
    if (received && random.chance(0.2)) await checkOrphans(deps).catch(() => {});
    return received;
  });
  return result !== undefined;
}

const HELD = statement(
  'simulation_held',
  `select t.id, a.id as attempt_id, t.held_cause,
     a.send_before + interval '60 seconds' < clock_now() as is_settled
   from tasks t join attempts a on a.task_id = t.id and a.state in ('unknown', 'accepted')
   where t.phase = 'held' order by t.updated_at limit 1`,
);

interface HeldTask {
  id: string;
  attempt_id: string;
  held_cause: 'acceptance' | 'outcome';
  is_settled: boolean;
}

/** Now and then decides a held task by what the provider's console shows. */
export function runOperator(simulation: Simulation, thread: Thread): Promise<void> {
  return inProcess(simulation, thread, async (own) => {
    while (simulation.stage === 'faulty') {
      await own.sleep(simulation.random.between(20, 90));
      const [held] = await simulation.db.query<HeldTask>(HELD);
      const decision = held && decisionOn(simulation, held);
      if (held && decision) await decide(simulation, thread, held, decision);
    }
  });
}

const IN_REVIEW = statement(
  'simulation_in_review',
  `select id from tasks where phase = 'review' order by updated_at limit 1`,
);

/** Decides reviews, as they come. */
export function runReviewer(simulation: Simulation, thread: Thread): Promise<void> {
  const { random, trace } = simulation;
  return inProcess(simulation, thread, async (own) => {
    while (simulation.stage === 'faulty') {
      await own.sleep(random.between(5, 60));
      const [task] = await simulation.db.query<{ id: string }>(IN_REVIEW);
      if (!task) continue;
      const verdict = random.chance(0.7) ? 'allow' : 'deny';
      trace.note(thread.name, `reviews ${trace.nameOf(task.id)}: ${verdict}`);
      const decision = { verdict, reason: 'a review' } as const;
      await inProcess(
        simulation,
        thread,
        ({ db }) =>
          db
            .transaction((tx) => decideReview(tx, task.id, decision))
            .then(() => count(simulation, `review ${verdict}`))
            .catch(() => {}), // a fault, or the task has moved
      );
    }
  });
}

/** The decision on a held task; the operator knows the providers' jobs and is never wrong. */
function decisionOn(simulation: Simulation, held: HeldTask): OperatorDecision | undefined {
  const { scheduler, random } = simulation;
  if (held.held_cause === 'outcome' || random.chance(0.1)) return { kind: 'failed' };
  const job = allJobs(simulation).find(({ attemptId }) => attemptId === held.attempt_id);
  if (job && hasRun(job, scheduler.nowMs())) return { kind: 'accepted', jobId: job.id };
  return held.is_settled ? { kind: 'not_accepted' } : undefined;
}

async function decide(
  simulation: Simulation,
  thread: Thread,
  held: HeldTask,
  decision: OperatorDecision,
): Promise<void> {
  const { trace } = simulation;
  trace.note(thread.name, `decides ${trace.nameOf(held.id)}: ${decision.kind}`);
  await inProcess(simulation, thread, ({ db }) =>
    reconcile(db, held.id, decision, 'the console says so').catch((error: unknown) => {
      if (!(error instanceof UsageError) && simulation.stage === 'calm') throw error;
    }),
  );
}

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
export function runOwner(simulation: Simulation, thread: Thread): Promise<void> {
  const { random, accountId } = simulation;
  return inProcess(simulation, thread, async (own) => {
    while (simulation.stage === 'faulty') {
      await own.sleep(random.between(2, 40));
      const refills = random.chance(0.4);
      await inProcess(simulation, thread, ({ db }) => {
        const acting = refills
          ? refillTestCredits(db, accountId).then(() => count(simulation, 'refill'))
          : changeEndpoints(simulation, db);
        return acting.catch(() => {});
      });
    }
  });
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
export function passOnCancels(simulation: Simulation, thread: Thread): Promise<void> {
  const { random, trace } = simulation;
  return inProcess(simulation, thread, async (own) => {
    while (simulation.stage !== 'over') {
      await own.sleep(random.between(2, 12));
      await inProcess(simulation, thread, (process) => {
        const worker = oneAfterTheOther(process);
        const db = databaseOf(worker, simulation.db, trace);
        const deps = { db, log: quiet, providers: providersOn(simulation, worker) };
        return askForCancels(deps).catch(() => {});
      });
    }
  });
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
