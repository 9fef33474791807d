import { statement } from '../../src/database/database.ts';
import { UsageError } from '../../src/kernel/errors.ts';
import { type OperatorDecision, reconcile } from '../../src/operator/reconcile.ts';
import { receiveCallback } from '../../src/tasks/attempts/callback.ts';
import { checkOrphans } from '../../src/tasks/attempts/orphan-check.ts';
import { quiet } from '../database.ts';
import { hasRun, type PendingCallback } from './cloud.ts';
import { type Thread, within } from './scheduler.ts';
import { LINKS } from './surroundings.ts';
import { processOn, providerFor, type World } from './world.ts';

/** Makes the provider's callbacks when they are due; one that fails is made again. */
export async function callBack(world: World, thread: Thread): Promise<void> {
  const { cloud, scheduler, random } = world;
  const own = processOn(world, thread, scheduler.newLife());
  while (world.season !== 'over') {
    await own.sleep(random.between(1, 5));
    const due = cloud.callbacks.filter(({ atMs }) => atMs <= own.nowMs());
    for (const callback of due) {
      cloud.callbacks = cloud.callbacks.filter((other) => other !== callback);
      const isHeard = await deliver(world, thread, callback);
      const again = { ...callback, atMs: own.nowMs() + 20_000 };
      if (!isHeard && random.chance(0.8)) cloud.callbacks.push(again);
    }
  }
  scheduler.end(own.life);
}

async function deliver(world: World, thread: Thread, callback: PendingCallback): Promise<boolean> {
  const { cloud, scheduler, random, trace } = world;
  const { attemptId, jobId, isGenuine } = callback;
  const api = processOn(world, thread, scheduler.newLife());
  const provider = providerFor(world, api);
  const deps = {
    db: api.db,
    log: quiet,
    links: LINKS,
    providers: new Map([[provider.name, provider]]),
  };
  const incoming = {
    provider: cloud.personality.name,
    segment: random.chance(0.05) ? 'nobody' : attemptId,
    body: Buffer.from(JSON.stringify({ job: jobId, isGenuine })),
    headers: {},
  };
  trace.note(thread.name, `calls about ${trace.nameOf(attemptId)}: ${jobId}`);
  const hearing = await within(api.life, () =>
    receiveCallback(deps, incoming).catch(() => undefined),
  );
  if (hearing && random.chance(0.2)) {
    await within(api.life, () => checkOrphans(deps).catch(() => {}));
  }
  scheduler.end(api.life);
  return hearing !== undefined;
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

/** Looks at the provider's console now and then, and decides what is held by what it shows. */
export async function operate(world: World, thread: Thread): Promise<void> {
  const own = processOn(world, thread, world.scheduler.newLife());
  while (world.season === 'stormy') {
    await own.sleep(world.random.between(20, 90));
    const [held] = await world.db.query<HeldTask>(HELD);
    const decision = held && decisionOn(world, held);
    if (held && decision) await decide(world, thread, held, decision);
  }
  world.scheduler.end(own.life);
}

/** An operator knows what the console shows and is never wrong about it. */
function decisionOn(
  { cloud, scheduler, random }: World,
  held: HeldTask,
): OperatorDecision | undefined {
  if (held.held_cause === 'outcome' || random.chance(0.1)) return { kind: 'failed' };
  const nowMs = scheduler.nowMs();
  const job = cloud.jobs.find(({ attemptId }) => attemptId === held.attempt_id);
  if (job && hasRun(job, nowMs)) return { kind: 'accepted', jobId: job.id };
  return held.is_settled ? { kind: 'not_accepted' } : undefined;
}

async function decide(world: World, thread: Thread, held: HeldTask, decision: OperatorDecision) {
  const console = processOn(world, thread, world.scheduler.newLife());
  world.trace.note(thread.name, `decides ${world.trace.nameOf(held.id)}: ${decision.kind}`);
  await within(console.life, () =>
    reconcile(console.db, held.id, decision, 'the console says so').catch((error: unknown) => {
      if (!(error instanceof UsageError) && world.season === 'calm') throw error;
    }),
  );
  world.scheduler.end(console.life);
}
