import type { HostedProvider } from '../../providers/hosted-provider.ts';
import { findHeldJob } from '../attempts/find-job.ts';
import { notAccepted } from '../attempts/not-accepted.ts';
import type { Task } from '../task.ts';
import { postpone, type StepResult } from '../transitions.ts';
import { type ArchiveDeps, archive } from './archive.ts';
import { type GenerateDeps, generate, recheck } from './generate.ts';
import { type IngestDeps, ingest, startTask } from './ingest.ts';
import { type SubmitStepDeps, submitTask } from './submit.ts';

export type StepDeps = IngestDeps & SubmitStepDeps & GenerateDeps & ArchiveDeps;

/** The work of each phase. */
export interface Steps {
  /** Runs the step of the task's phase. It may run twice: a process can die after any statement. */
  run(task: Task): Promise<StepResult>;
  /** Postpones or fails the task after an internal failure of its step. */
  failed(task: Task, error: unknown): Promise<StepResult>;
}

export function createSteps(deps: StepDeps): Steps {
  return {
    run: (task) => runStep(deps, task),
    failed: (task, error) => handleFailure(deps, task, error),
  };
}

function runStep(deps: StepDeps, task: Task): Promise<StepResult> {
  switch (task.phase) {
    case 'reserved':
      return startTask(deps, task);
    case 'ingesting':
      return ingest(deps, task);
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
 * Before the phase `submitting` it is certain that no provider accepted the task, so it is treated
 * as not accepted: a client that waits gets its response at once. From then on the task is only
 * postponed: neither a failed poll nor an internal failure may fail it.
 */
function handleFailure(deps: StepDeps, task: Task, error: unknown): Promise<StepResult> {
  if (task.phase === 'reserved' || task.phase === 'ingesting') {
    const { submitRetrySeconds } = deps;
    const cause = { failure: String(error) };
    return deps.db.transaction((tx) => notAccepted(tx, task, { submitRetrySeconds, cause }));
  }
  return postpone(deps.db, task, {
    seconds: retryDelaySeconds(task.internal_failures),
    internalFailures: 1,
  });
}

/**
 * The provider whose name is recorded with the task.
 * @throws Error when it is not configured in this process
 */
export function providerFor(
  providers: ReadonlyMap<string, HostedProvider>,
  task: Task,
): HostedProvider {
  const provider = providers.get(task.provider);
  if (!provider) throw new Error(`this process has no provider named ${task.provider}`);
  return provider;
}
