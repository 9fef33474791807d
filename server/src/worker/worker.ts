// The room worker/: runs tasks. A pool per kind of step claims due tasks, that is, leases them;
// each step moves its task or postpones it (docs/ARCHITECTURE.md, "Walk 2").

import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../database/database.ts';
import { startInterval } from '../kernel/interval.ts';
import type { Log } from '../kernel/log.ts';
import type { HostedProvider } from '../providers/provider.ts';
import { release, renew } from '../tasks/lease.ts';
import type { Task } from '../tasks/task.ts';
import { LEASE_SECONDS, Superseded } from '../tasks/transitions.ts';
import { hasEnded } from '../tasks/waiting.ts';
import type { WakeUps } from '../tasks/wake-ups.ts';
import { inTrace } from '../telemetry/tracing.ts';
import { claimDue, type DueWork, findDueWork, poolOf, type WorkerPool } from './claim.ts';
import { createClaimRules, REPORT_SECONDS, reportAlive, reportGone } from './live-workers.ts';
import { createPool, type Pool } from './pool.ts';
import type { Steps } from './steps.ts';

/**
 * How many tasks one process works on at once in each worker pool. Many ingests only wait for slow
 * hosts; two files at a time are decoded.
 */
const SLOTS: Record<WorkerPool, number> = {
  ingest: 32,
  submit: 32,
  poll: 32,
  find: 16,
  archive: 32,
};
const SWEEP_SECONDS = 0.5;
/** The shortest time between sweeps, when a task is due before the next regular one. */
const MIN_SWEEP_SECONDS = 0.05;

export type Worker = ReturnType<typeof createWorker>;

interface WorkerDeps {
  db: Database;
  wakeUps: Pick<WakeUps, 'listen'>;
  log: Log;
  steps: Steps;
  /** Tasks of all other providers are left to other processes. */
  providers: ReadonlyMap<string, Pick<HostedProvider, 'nearReads'>>;
  onMoved?: ((task: Task) => void) | undefined;
  /** Called when webhook deliveries are due. */
  onDeliveries?: () => void;
}

/**
 * A wake-up makes a pool claim at once. Twice a second, a sweep wakes pools with due tasks:
 * postponed ones, and those that a killed process had leased.
 */
export function createWorker(deps: WorkerDeps) {
  const { db, wakeUps, log, steps, onMoved, onDeliveries } = deps;
  const own = { id: crypto.randomUUID(), providers: [...deps.providers.keys()] };
  const rules = createClaimRules({
    providers: own.providers,
    ingestSlots: SLOTS.ingest,
    monotonic: () => performance.now(),
  });
  /** The numbers of the leases to renew, by task. */
  const leases = new Map<string, number>();
  /** Aborts when no more tasks are claimed. */
  const stopping = new AbortController();
  /** Aborts when leases are no longer renewed. */
  const stopped = new AbortController();
  const advanceDeps = { db, log, steps, onMoved, leases, stopping: stopping.signal };

  const openPool = (name: WorkerPool): Pool =>
    createPool({
      name,
      slots: SLOTS[name],
      log,
      stopping: stopping.signal,
      async claim(slots) {
        const limits = new Map(rules.providers(name).map((provider) => [provider, slots]));
        if (name === 'poll') await limitToTurns(deps, limits);
        return claimDue(db, name, { slots, limits, accountLimit: rules.accountLimit() });
      },
      async work(task) {
        await inTrace(task.traceparent, () =>
          advance(advanceDeps, task, name)
            .then((next) => next && handOver(next))
            .catch((error: Error) => {
              log.warn({ err: error, task: task.id }, 'work on a task failed');
            }),
        );
      },
    });
  const pools: Record<WorkerPool, Pool> = {
    ingest: openPool('ingest'),
    submit: openPool('submit'),
    poll: openPool('poll'),
    find: openPool('find'),
    archive: openPool('archive'),
  };
  const handOver = async (task: Task) => {
    const pool = poolOf(task);
    const mayTake = pool !== 'poll' || !waitsForTurn(deps, task);
    leases.set(task.id, task.lease);
    if (mayTake && pools[pool].take(task)) return;
    forgetLease(leases, task);
    await release(db, task);
    void pools[pool].fill();
  };
  const report = async () => {
    rules.update(await reportAlive(db, { ...own, ingestSlots: SLOTS.ingest }));
  };
  const renewLeases = async () => {
    if (leases.size > 0) await renew(db, leases);
  };
  return {
    async start() {
      wakeUps.listen((wakeUp) => void pools[wakeUp].fill(), stopping.signal);
      const reporting = { log, name: 'report of this worker', signal: stopping.signal };
      startInterval(REPORT_SECONDS, reporting, report);
      startSweeping(deps, stopping.signal, {
        providers: () => rules.providers('submit'),
        // Not awaited: a slow claim of one pool must not delay the others.
        found: (work) => void (work === 'webhooks' ? onDeliveries?.() : pools[work].fill()),
      });
      startInterval(LEASE_SECONDS / 3, { log, name: 'renew', signal: stopped.signal }, renewLeases);
      log.info('the worker has started');
    },
    async stopClaiming() {
      stopping.abort();
      await reportGone(db, own.id).catch(() => {}); // other workers notice after a while
    },
    async stop(seconds: number) {
      stopping.abort(); // stopClaiming was not called if start failed
      const late = delay(seconds * 1000, undefined, { ref: false });
      const finished = Promise.all(Object.values(pools).map((pool) => pool.finish()));
      await Promise.race([finished, late]);
      stopped.abort();
    },
  };
}

/**
 * Fills only the pools that have due tasks, so an idle worker runs one statement. If something is
 * due before the next sweep, the sweep starts then.
 */
function startSweeping(
  { db, log }: Pick<WorkerDeps, 'db' | 'log'>,
  signal: AbortSignal,
  work: { providers(): string[]; found(work: DueWork): void },
): void {
  let early: NodeJS.Timeout | undefined;
  const sweep = async () => {
    const { due, nextSeconds } = await findDueWork(db, work.providers(), SWEEP_SECONDS);
    for (const kind of due) work.found(kind);
    clearTimeout(early);
    if (nextSeconds === undefined || signal.aborted) return;
    const seconds = Math.max(nextSeconds, MIN_SWEEP_SECONDS);
    early = setTimeout(sweepNow, Math.ceil(seconds * 1000));
  };
  signal.addEventListener('abort', () => clearTimeout(early));
  const sweepNow = startInterval(SWEEP_SECONDS, { log, name: 'sweep', signal }, sweep);
}

/** Polls that are far from their turn are not claimed: they would only occupy slots. */
async function limitToTurns({ providers }: WorkerDeps, limits: Map<string, number>): Promise<void> {
  for (const [provider, slots] of limits) {
    const turns = await providers.get(provider)?.nearReads?.();
    if (turns !== undefined) limits.set(provider, Math.min(slots, turns));
  }
}

/** Polls that wait for the provider's rate budget are only claimed, never handed over. */
function waitsForTurn({ providers }: WorkerDeps, task: Task): boolean {
  const provider = providers.get(task.provider);
  return provider === undefined || provider.nearReads !== undefined;
}

export interface AdvanceDeps {
  db: Database;
  log: Log;
  steps: Steps;
  onMoved?: ((task: Task) => void) | undefined;
  leases: Map<string, number>;
  stopping: { readonly aborted: boolean };
}

/**
 * Runs the steps of a leased task until its next one is due later or belongs to another pool, a
 * step fails, or the process is stopping.
 * @returns the task, still leased, if it has a next step
 */
export async function advance(
  deps: AdvanceDeps,
  leased: Task,
  pool: WorkerPool,
): Promise<Task | undefined> {
  const { leases } = deps;
  leases.set(leased.id, leased.lease);
  try {
    let task: Task | undefined = leased;
    while (task && !deps.stopping.aborted) {
      task = await step(deps, task);
      if (task && poolOf(task) !== pool) break;
    }
    return task;
  } finally {
    forgetLease(leases, leased);
  }
}

/** Keeps a newer lease: after a database outage, this process may have leased the task again. */
function forgetLease(leases: Map<string, number>, { id, lease }: Task): void {
  if (leases.get(id) === lease) leases.delete(id);
}

async function step(deps: AdvanceDeps, task: Task): Promise<Task | undefined> {
  const { log, steps } = deps;
  try {
    const next = await steps.run(task);
    if (next === 'postponed') return undefined;
    deps.onMoved?.(next);
    log.info({ task: next.id, phase: next.phase }, 'a task moved');
    return hasEnded(next) ? undefined : next;
  } catch (error) {
    if (error instanceof Superseded) {
      log.debug({ task: task.id, cause: error.message }, 'a step was superseded');
    } else {
      const ids = { task: task.id, phase: task.phase };
      log.warn({ err: error, ...ids }, 'a step failed and will be retried');
      await steps.handleFailure(task, error);
    }
    return undefined;
  }
}
