import { parametersOf } from '../catalog/request.ts';
import type { Database } from '../database/database.ts';
import type { FindJobInput, JobSpec, ProviderInput } from '../providers/provider.ts';
import type { Links } from '../storage/links.ts';
import type { Task, TaskInput } from '../tasks/task.ts';
import { type Attempt, takenJobs } from './attempts.ts';

export interface JobSpecDeps {
  db: Database;
  submitTimeoutSeconds: number;
  links: Pick<Links, 'inputLinkTo' | 'callbackTo'>;
}

/** A task's files, with links that last as long as a provider may wait before it fetches them. */
export function inputsFor(
  { links }: Pick<JobSpecDeps, 'links'>,
  task: Task,
): Promise<ProviderInput[]> {
  const urlOf = ({ objectId, mediaType }: TaskInput) =>
    links.inputLinkTo(objectId, task.now_seconds, mediaType);
  return Promise.all(task.inputs.map(async (input) => ({ ...input, url: await urlOf(input) })));
}

/** The job spec of an attempt's submit and finds; only the links of a find expire later. */
export async function jobSpecOf(
  { links }: Pick<JobSpecDeps, 'links'>,
  task: Task,
  attempt: Attempt,
): Promise<JobSpec> {
  return {
    ...parametersOf(task.request),
    ...(attempt.provider_model !== null && { providerModel: attempt.provider_model }),
    attemptId: attempt.id,
    aspect_ratio: task.aspect_ratio ?? '16:9',
    seed: task.seed,
    inputs: await inputsFor({ links }, task),
    callbackUrl: links.callbackTo(attempt.provider, attempt.id),
  };
}

/**
 * What a provider needs to find the attempt's job.
 * @param connections the connections whose jobs the provider may list
 */
export async function findJobInput(
  deps: JobSpecDeps,
  task: Task,
  attempt: Attempt,
  connections: readonly string[],
): Promise<FindJobInput> {
  const sendBeforeMs = attempt.now_ms - attempt.seconds_since_deadline * 1000;
  const latestMs = sendBeforeMs + deps.submitTimeoutSeconds * 1000;
  return {
    jobSpec: await jobSpecOf(deps, task, attempt),
    sentBetween: { from: attempt.created_at_ms, to: Math.min(latestMs, attempt.now_ms) },
    takenJobIds: (jobIds) => takenJobs(deps.db, connections, jobIds),
  };
}
