import type { Provider } from '../../providers/provider.ts';
import { findHeldJob } from '../attempts/find-job.ts';
import { notAccepted } from '../attempts/not-accepted.ts';
import type { Task } from '../task.ts';
import { postpone, type StepResult } from '../transitions.ts';
import { type ArchiveDeps, archive } from './archive.ts';
import { type GenerateDeps, generate, recheck } from './generate.ts';
import { type IngestDeps, ingest, startTask } from './ingest.ts';
import { type SubmitStepDeps, submitTask } from './submit.ts';

export type StepDeps = IngestDeps & SubmitStepDeps & GenerateDeps & ArchiveDeps;

/** What is done with a task in each phase of its life. */
export interface Steps {
  /** Does the phase's step. It may be done twice: the process can die after any statement. */
  run(task: Task): Promise<StepResult>;
  /** What follows when a step failed through our own fault. */
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
      throw new Error(`${task.id} has ended: there is no work to do`);
  }
}

/** Seconds to rest after the n-th failure of ours in one phase: 1, 2, 4 ... 60. */
function retryDelaySeconds(internalFailures: number): number {
  return Math.min(60, 2 ** internalFailures);
}

/**
 * Before a submit it is certain that nothing was accepted, so a waiting client hears at once. From
 * the submit on the task only rests: neither a poll's nor our own failure decides its fate.
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

/** The provider that a task was given to, by the name recorded with it. */
export function providerFor(providers: ReadonlyMap<string, Provider>, task: Task): Provider {
  const provider = providers.get(task.provider);
  if (!provider) throw new Error(`this process has no provider named ${task.provider}`);
  return provider;
}
