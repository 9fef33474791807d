import type { Database } from '../kernel/database.ts';
import type { SoughtAttempt, Submission } from '../providers/provider.ts';
import type { Links } from '../storage/links.ts';
import { type Attempt, SEND_WITHIN_SECONDS, takenJobs } from './attempts.ts';
import type { Task, TaskInput } from './task.ts';

export interface SubmissionParts {
  db: Database;
  submitTimeoutSeconds: number;
  /** Signs what the provider may fetch and where it may call back. */
  links: Pick<Links, 'inputLinkTo' | 'callbackTo'>;
}

/** What the provider is given; the same for a look-up but for the links' expiry. */
export function submissionOf(
  { links }: Pick<SubmissionParts, 'links'>,
  task: Task,
  attempt: Attempt,
): Submission {
  const { request } = task;
  const urlOf = ({ objectId, mediaType }: TaskInput) =>
    links.inputLinkTo(objectId, attempt.now_ms / 1000, mediaType);
  return {
    attemptId: attempt.id,
    mode: request.mode,
    model: request.model,
    prompt: request.prompt,
    aspectRatio: task.aspect_ratio ?? '16:9',
    resolution: request.resolution,
    durationSeconds: request.duration,
    generateAudio: request.generate_audio,
    seed: task.seed,
    inputs: task.inputs.map((input) => ({ ...input, url: urlOf(input) })),
    callbackUrl: links.callbackTo(attempt.provider, attempt.id),
  };
}

/** What a look-up of the attempt's job goes by. */
export function soughtAttempt(parts: SubmissionParts, task: Task, attempt: Attempt): SoughtAttempt {
  const latestMs = attempt.opened_at_ms + (SEND_WITHIN_SECONDS + parts.submitTimeoutSeconds) * 1000;
  return {
    submission: submissionOf(parts, task, attempt),
    sentBetween: { from: attempt.opened_at_ms, to: Math.min(latestMs, attempt.now_ms) },
    takenJobIds: (jobIds) => takenJobs(parts.db, attempt.provider, jobIds),
  };
}
