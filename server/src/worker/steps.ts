import { findHeldJob } from '../attempts/find-job.ts';
import { TEST_SURFACE } from '../ledger/transfer.ts';
import { endReview } from '../moderation/review.ts';
import type { HostedProvider } from '../providers/provider.ts';
import { retryOrFail } from '../tasks/not-accepted.ts';
import type { Task } from '../tasks/task.ts';
import { postpone, type StepResult, Superseded } from '../tasks/transitions.ts';
import { report, secondsSince } from '../telemetry/reports.ts';
import { inSpan } from '../telemetry/tracing.ts';
import { type ArchiveDeps, archive } from './archive.ts';
import { type GenerateDeps, generate, recheck } from './generate.ts';
import { type IngestDeps, ingest, startTask } from './ingest.ts';
import { type SubmitStepDeps, submitTask } from './submit.ts';

export type StepDeps = IngestDeps &
  SubmitStepDeps &
  GenerateDeps &
  ArchiveDeps & { reviewSeconds: number };

export interface Steps {
  /** Runs the step of the task's phase. It may run twice: a process can die after any statement. */
  run(task: Task): Promise<StepResult>;
  /** Postpones or fails the task after an internal failure of its step. */
  handleFailure(task: Task, error: unknown): Promise<StepResult>;
}

export function createSteps(deps: StepDeps): Steps {
  return {
    run: (task) => runStep(deps, task),
    handleFailure: (task, error) => handleFailure(deps, task, error),
  };
}

function runStep(deps: StepDeps, task: Task): Promise<StepResult> {
  switch (task.phase) {
    case 'reserved':
      return startTask(deps, task);
    case 'ingesting':
      return ingest(deps, task);
    case 'review':
      return endReview(deps, task);
    case 'submitting':
      return submitTask(deps, task);
    case 'generating':
      return generate(deps, task);
    case 'archiving':
      return archive(deps, task);
    case 'held':
      return task.held_cause === 'acceptance' ? findHeldJob(deps, task) : recheck(deps, task);
    case 'completed':
    case 'failed':
      throw new Error(`${task.id} has ended: it has no next step`);
  }
}

/** Seconds until the retry after the nth internal failure in a phase: 1, 2, 4 ... 60. */
function retryDelaySeconds(internalFailures: number): number {
  return Math.min(60, 2 ** internalFailures);
}

/**
 * Before the phase `submitting`, no provider can have accepted the task. So it may fail, and a
 * waiting client gets its response at once. From then on a task is only postponed: neither a failed
 * poll nor an internal failure may fail it.
 */
function handleFailure(deps: StepDeps, task: Task, error: unknown): Promise<StepResult> {
  if (task.phase === 'reserved' || task.phase === 'ingesting') {
    const { submitRetrySeconds } = deps;
    const cause = { failure: String(error) };
    return deps.db.transaction((tx) => retryOrFail(tx, task, { submitRetrySeconds, cause }));
  }
  return postpone(deps.db, task, {
    seconds: retryDelaySeconds(task.internal_failures),
    internalFailures: 1,
  });
}

/** @throws Error when this process does not have the task's provider */
export function providerFor(
  providers: ReadonlyMap<string, HostedProvider>,
  task: Task,
): HostedProvider {
  const provider = providers.get(task.provider);
  if (!provider) throw new Error(`this process has no provider named ${task.provider}`);
  return provider;
}

/** Reports each step and move to the metrics; each step is a span of the task's trace. */
export function instrumentedSteps(steps: Steps): Steps {
  return {
    run: (task) => inStepSpan(task, () => runReported(task)),
    async handleFailure(task, error) {
      const next = await steps.handleFailure(task, error);
      reportMove(task, next);
      return next;
    },
  };

  async function runReported(task: Task): Promise<StepResult> {
    const startedAt = performance.now();
    let result: 'moved' | 'postponed' | 'superseded' | 'failed' = 'failed';
    try {
      const next = await steps.run(task);
      result = next === 'postponed' ? next : 'moved';
      reportMove(task, next);
      return next;
    } catch (error) {
      if (error instanceof Superseded) result = 'superseded';
      throw error;
    } finally {
      report('step', { phase: task.phase, result, seconds: secondsSince(startedAt) });
    }
  }
}

/** Uses the database's times, so that tasks which move between processes are measured too. */
function reportMove(before: Task, next: StepResult): void {
  if (next === 'postponed' || next.phase === before.phase) return;
  const { phase, updated_at: movedAt, created_at: createdAt, credits } = next;
  report('phase', { phase: before.phase, seconds: secondsBetween(before.updated_at, movedAt) });
  if (phase !== 'completed' && phase !== 'failed') return;
  report('end', { outcome: phase, seconds: secondsBetween(createdAt, movedAt) });
  if (next.surface === TEST_SURFACE) return;
  report('credits', { movement: phase === 'completed' ? 'capture' : 'refund', credits });
}

function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, to.getTime() - from.getTime()) / 1000;
}

/**
 * Runs a step in a span. Polls of a job in progress get none, since there may be thousands. A
 * reserved task gets one more: its wait for a worker, which began with its create.
 */
async function inStepSpan(task: Task, run: () => Promise<StepResult>): Promise<StepResult> {
  const { id, phase, lease, provider } = task;
  const attributes = { 'task.id': id, 'task.phase': phase, 'task.lease': lease, provider };
  if (phase === 'reserved') {
    await inSpan({ name: 'wait for a worker', secondsAgo: task.phase_seconds }, async () => {});
  }
  return inSpan({ name: `step ${phase}`, attributes }, async (span) => {
    const next = await run();
    if (next === 'postponed' && phase === 'generating') span?.discard();
    span?.set({ result: next === 'postponed' ? next : `moved to ${next.phase}` });
    return next;
  });
}
