import { statement } from '../../src/database/database.ts';
import { UsageError } from '../../src/kernel/errors.ts';
import { type OperatorDecision, reconcile } from '../../src/operator/reconcile.ts';
import { hasRun } from './provider-state.ts';
import { type Thread, within } from './scheduler/scheduler.ts';
import { allJobs, processOn, type Simulation } from './simulation.ts';

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
export async function runOperator(simulation: Simulation, thread: Thread): Promise<void> {
  const own = processOn(simulation, thread, simulation.scheduler.newLifetime());
  while (simulation.stage === 'faulty') {
    await own.sleep(simulation.random.between(20, 90));
    const [held] = await simulation.db.query<HeldTask>(HELD);
    const decision = held && decisionOn(simulation, held);
    if (held && decision) await decide(simulation, thread, held, decision);
  }
  simulation.scheduler.end(own.lifetime);
}

/** The decision on a held task; the operator knows the providers' jobs and is never wrong. */
function decisionOn(simulation: Simulation, held: HeldTask): OperatorDecision | undefined {
  const { scheduler, random } = simulation;
  if (held.held_cause === 'outcome' || random.chance(0.1)) return { kind: 'failed' };
  const nowMs = scheduler.nowMs();
  const job = allJobs(simulation).find(({ attemptId }) => attemptId === held.attempt_id);
  if (job && hasRun(job, nowMs)) return { kind: 'accepted', jobId: job.id };
  return held.is_settled ? { kind: 'not_accepted' } : undefined;
}

async function decide(
  simulation: Simulation,
  thread: Thread,
  held: HeldTask,
  decision: OperatorDecision,
) {
  const console = processOn(simulation, thread, simulation.scheduler.newLifetime());
  simulation.trace.note(
    thread.name,
    `decides ${simulation.trace.nameOf(held.id)}: ${decision.kind}`,
  );
  await within(console.lifetime, () =>
    reconcile(console.db, held.id, decision, 'the console says so').catch((error: unknown) => {
      if (!(error instanceof UsageError) && simulation.stage === 'calm') throw error;
    }),
  );
  simulation.scheduler.end(console.lifetime);
}
