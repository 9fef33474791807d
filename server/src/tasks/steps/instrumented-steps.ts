import { TEST_SURFACE } from '../../ledger/transfer.ts';
import { report, secondsSince } from '../../telemetry/reports.ts';
import { inSpan } from '../../telemetry/tracing.ts';
import type { Task } from '../task.ts';
import { type StepResult, Superseded } from '../transitions.ts';
import type { Steps } from './steps.ts';

/**
 * Wraps the steps: each step and each move of a task is reported to the metrics, and each step is a
 * span of the task's trace.
 */
export function instrumentedSteps(steps: Steps): Steps {
  return {
    run: (task) => inStepSpan(task, () => runReported(task)),
    async failed(task, error) {
      const next = await steps.failed(task, error);
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

/** Times are those of the database, so a task that several processes work on is measured too. */
function reportMove(before: Task, next: StepResult): void {
  if (next === 'postponed') return;
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
 * A poll of a job that goes on is left out: there may be thousands of them. A reserved task has
 * waited for a worker since its create.
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
