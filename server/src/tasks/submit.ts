import type { Database, Transaction } from '../kernel/database.ts';
import type {
  FindOutcome,
  Provider,
  SoughtAttempt,
  Submission,
  SubmitOutcome,
} from '../providers/provider.ts';
import type { Links } from '../storage/links.ts';
import {
  type Attempt,
  liveAttempt,
  openAttempt,
  type Resolution,
  resolveAttempt,
  SEND_WITHIN_SECONDS,
  takenJobs,
} from './attempts.ts';
import { takeBack } from './lease.ts';
import { notAccepted } from './not-accepted.ts';
import type { Task, TaskInput } from './task.ts';
import { move, type Next, postpone } from './transitions.ts';

export interface SubmitParts {
  db: Database;
  providerOf(task: Task): Provider;
  /** Monotonic milliseconds of this process. */
  monotonic(): number;
  submitTimeoutSeconds: number;
  submitRetrySeconds: number;
  reconcileSeconds: number;
  /** Signs what the provider may fetch and where it may call back. */
  links: Pick<Links, 'linkTo' | 'callbackTo'>;
}

/**
 * Hands a task to its provider, once. An attempt that another worker left behind is never sent
 * again: it is looked up first, and held when the look-up can't tell.
 */
export async function submit(parts: SubmitParts, task: Task): Promise<Next> {
  const left = await liveAttempt(parts.db, task.id);
  if (left) return lookUp(parts, task, left);
  const askedAt = parts.monotonic();
  const attempt = await parts.db.transaction((tx) => openAttempt(tx, task));
  // Counted from before the record was made, so this clock runs out no later than send_before.
  const mayStillSend = () => parts.monotonic() - askedAt < SEND_WITHIN_SECONDS * 1000;
  const outcome = await submitOnce(
    parts.providerOf(task),
    submissionOf(parts.links, task, attempt),
    mayStillSend,
  );
  return parts.db.transaction((tx) => recordOutcome(parts, tx, task, attempt, outcome));
}

async function submitOnce(
  provider: Provider,
  submission: Submission,
  mayStillSend: () => boolean,
): Promise<SubmitOutcome> {
  try {
    return await provider.submit(submission, mayStillSend);
  } catch (error) {
    return { kind: 'unknown', cause: String(error) };
  }
}

/** What the provider is given; the same for a look-up but for the links' expiry. */
function submissionOf(links: SubmitParts['links'], task: Task, attempt: Attempt): Submission {
  const { request } = task;
  const urlOf = ({ objectId, mediaType }: TaskInput) =>
    links.linkTo(objectId, attempt.now_ms / 1000, mediaType);
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

type KnownOutcome = Exclude<SubmitOutcome, { kind: 'unknown' }>;

/** What is known for certain is recorded whoever holds the task now: nobody knows better. */
async function recordOutcome(
  parts: SubmitParts,
  tx: Transaction,
  task: Task,
  attempt: Attempt,
  outcome: SubmitOutcome,
): Promise<Next> {
  const cause = { attempt: attempt.id, ...outcome };
  if (outcome.kind === 'unknown') return holdForEvidence(tx, task, attempt, cause);
  await resolveAttempt(tx, attempt.id, resolutionOf(outcome, cause));
  const current = await takeBack(tx, task);
  const next = await follow(parts, tx, current, outcome, cause);
  return current === task ? next : 'rest';
}

function resolutionOf(outcome: KnownOutcome, cause: Record<string, unknown>): Resolution {
  return outcome.kind === 'accepted'
    ? { state: 'accepted', jobId: outcome.jobId }
    : { state: outcome.kind, cause };
}

async function follow(
  parts: SubmitParts,
  tx: Transaction,
  task: Task,
  outcome: KnownOutcome,
  cause: { attempt: string },
): Promise<Next> {
  switch (outcome.kind) {
    case 'accepted':
      return move(tx, task, { to: 'generating', cause });
    case 'not_sent':
      return notAccepted(tx, task, { ...parts, cause });
    case 'rejected': {
      if (outcome.fault !== 'request') return notAccepted(tx, task, { ...parts, cause });
      const { code, message } = outcome;
      return move(tx, task, { to: 'failed', changes: { error: { code, message } }, cause });
    }
  }
}

async function accepted(tx: Transaction, task: Task, attempt: Attempt, jobId: string) {
  await resolveAttempt(tx, attempt.id, { state: 'accepted', jobId });
  return move(tx, task, { to: 'generating', cause: { attempt: attempt.id, job: jobId } });
}

async function holdForEvidence(
  tx: Transaction,
  task: Task,
  attempt: Attempt,
  cause: Record<string, unknown>,
): Promise<Next> {
  if (attempt.state === 'open') await resolveAttempt(tx, attempt.id, { state: 'unknown', cause });
  return move(tx, task, { to: 'held', changes: { heldCause: 'acceptance' }, cause });
}

/** Whether a look-up that begins now proves, by not finding a job, that there is none. */
function provesAbsence(parts: SubmitParts, task: Task, attempt: Attempt, found: FindOutcome) {
  if (found.kind !== 'absent') return false;
  if (found.proof === 'final') return true;
  const lag = parts.providerOf(task).capabilities.findLagSeconds;
  const settledSeconds = parts.submitTimeoutSeconds + lag;
  return found.proof === 'strong' && attempt.seconds_past_sending > settledSeconds;
}

function soughtAttempt(parts: SubmitParts, task: Task, attempt: Attempt): SoughtAttempt {
  const latestMs = attempt.opened_at_ms + (SEND_WITHIN_SECONDS + parts.submitTimeoutSeconds) * 1000;
  return {
    submission: submissionOf(parts.links, task, attempt),
    sentBetween: { from: attempt.opened_at_ms, to: Math.min(latestMs, attempt.now_ms) },
    takenJobIds: (jobIds) => takenJobs(parts.db, attempt.provider, jobIds),
  };
}

/**
 * Looks for the job of an attempt whose outcome nobody knows: one that a killed worker left open,
 * or one that holds its task.
 */
export async function lookUp(parts: SubmitParts, task: Task, attempt: Attempt): Promise<Next> {
  if (attempt.state === 'accepted') throw new Error(`${attempt.id} needs no look-up`);
  const found = await parts.providerOf(task).find(soughtAttempt(parts, task, attempt));
  const cause = { attempt: attempt.id, look_up: found };
  return parts.db.transaction(async (tx) => {
    if (found.kind === 'found') return accepted(tx, task, attempt, found.jobId);
    if (provesAbsence(parts, task, attempt, found)) {
      await resolveAttempt(tx, attempt.id, { state: 'absent', cause } satisfies Resolution);
      return notAccepted(tx, task, { ...parts, cause });
    }
    if (task.phase === 'submitting') return holdForEvidence(tx, task, attempt, cause);
    return postpone(tx, task, { seconds: parts.reconcileSeconds });
  });
}
