import { report, secondsSince } from '../../telemetry/reports.ts';
import type { Task } from '../task.ts';
import { type StepResult, Superseded } from '../transitions.ts';
import type { Steps } from './steps.ts';

/** Wraps the steps: each step and each move of a task is reported to the metrics. */
export function instrumentedSteps(steps: Steps): Steps {
  return {
    async run(task) {
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
    },
    async failed(task, error) {
      const next = await steps.failed(task, error);
      reportMove(task, next);
      return next;
    },
  };
}

/** Times are those of the database, so a task that several processes work on is measured too. */
function reportMove(before: Task, next: StepResult): void {
  if (next === 'postponed') return;
  const { phase, updated_at: movedAt, created_at: createdAt, credits } = next;
  report('phase', { phase: before.phase, seconds: secondsBetween(before.updated_at, movedAt) });
  if (phase !== 'completed' && phase !== 'failed') return;
  report('end', { outcome: phase, seconds: secondsBetween(createdAt, movedAt) });
  report('credits', { movement: phase === 'completed' ? 'capture' : 'refund', credits });
}

function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, to.getTime() - from.getTime()) / 1000;
}
