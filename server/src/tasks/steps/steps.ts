import type { Provider } from '../../providers/provider.ts';
import { findHeldJob } from '../attempts/find-job.ts';
import { notAccepted } from '../attempts/not-accepted.ts';
import type { Task } from '../task.ts';
import { type Next, postpone } from '../transitions.ts';
import { type ArchiveDeps, archive } from './archive.ts';
import { type GenerateDeps, generate, recheck } from './generate.ts';
import { begin, type IngestDeps, ingest } from './ingest.ts';
import { type SubmitDeps, submit } from './submit.ts';

export type StepDeps = IngestDeps & SubmitDeps & GenerateDeps & ArchiveDeps;

/** What is done with a task in each phase of its life. */
export interface Steps {
  /** Does the phase's step. It may be done twice: the process can die after any statement. */
  run(task: Task): Promise<Next>;
  /** What follows when a step failed through our own fault. */
  failed(task: Task, error: unknown): Promise<Next>;
}

export function createSteps(deps: StepDeps): Steps {
  return {
    run: (task) => runStep(deps, task),
    failed: (task, error) => handleFailure(deps, task, error),
  };
}

function runStep(deps: StepDeps, task: Task): Promise<Next> {
  switch (task.phase) {
    case 'reserved':
      return begin(deps, task);
    case 'ingesting':
      return ingest(deps, task);
    case 'submitting':
      return submit(deps, task);
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
function restSeconds(internalFailures: number): number {
  return Math.min(60, 2 ** internalFailures);
}

/**
 * Before a submit it is certain that nothing was accepted, so a waiting client hears at once. From
 * the submit on the task only rests: neither a poll's nor our own failure decides its fate.
 */
function handleFailure(deps: StepDeps, task: Task, error: unknown): Promise<Next> {
  if (task.phase === 'reserved' || task.phase === 'ingesting') {
    const cause = { failure: String(error) };
    return deps.db.transaction((tx) => notAccepted(tx, task, { ...deps, cause }));
  }
  return postpone(deps.db, task, {
    seconds: restSeconds(task.internal_failures),
    internalFailures: 1,
  });
}

/** The provider that a task was given to, by the name recorded with it. */
export function providerFor(providers: ReadonlyMap<string, Provider>, task: Task): Provider {
  const provider = providers.get(task.provider);
  if (!provider) throw new Error(`this process has no provider named ${task.provider}`);
  return provider;
}
