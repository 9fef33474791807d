import type { AspectRatio, Resolution } from './frame-size.ts';

/** One copied client file as a provider is given it. */
export interface ProviderInput {
  role: 'first_frame' | 'last_frame' | 'reference_image' | 'reference_video';
  /** The managed copy. */
  objectId: string;
  mediaType: string;
}

/** One attempt to hand a task to a provider. */
export interface Submission {
  /** Unique to the attempt; a provider that takes a client's own id gets this one. */
  attemptId: string;
  mode: 'text-to-video' | 'image-to-video' | 'media-to-video';
  model: 'video-2.0' | 'video-2.0-fast' | 'video-2.0-mini';
  prompt: string;
  aspectRatio: AspectRatio;
  resolution: Resolution;
  durationSeconds: number;
  generateAudio: boolean;
  seed: number;
  inputs: ProviderInput[];
}

/**
 * What became of a submit. `unknown` holds the task until evidence comes: it may be accepted.
 * `request` faults are the client's, `busy` passes, `operator` wants an operator (a wrong key, an
 * overdue account, a missing model).
 */
export type SubmitOutcome =
  | { kind: 'accepted'; jobId: string }
  | {
      kind: 'rejected';
      fault: 'request';
      code: 'content_refused' | 'invalid_media' | 'invalid_request';
      message: string;
    }
  | { kind: 'rejected'; fault: 'busy' | 'operator'; cause: string; retryAfterSeconds?: number }
  | { kind: 'not_sent'; cause: string }
  | { kind: 'unknown'; cause: string };

/**
 * Whether the provider has a job of an attempt. Absence is `final` when no job of it can appear any
 * more, `strong` when it counts once the submit can't be on its way any more, `weak` when it is
 * only a hint.
 */
export type FindOutcome =
  | { kind: 'found'; jobId: string }
  | { kind: 'absent'; proof: 'final' | 'strong' | 'weak' }
  | { kind: 'ambiguous'; jobIds: string[] };

/** Where a result can be had: the provider's own words, stored with the task as JSON. */
export type OutputReference = Record<string, string>;

export type JobStatus =
  | { kind: 'working' }
  | { kind: 'succeeded'; output: OutputReference }
  | {
      kind: 'failed';
      code: 'provider_failed' | 'content_refused' | 'generation_expired';
      message: string;
    }
  /** The provider does not know the job (any more). */
  | { kind: 'missing' };

/**
 * What a generation provider can do. The host owns time: a provider never waits, retries or
 * schedules by itself. All calls may throw for passing failures, except `submit`, which must say
 * how certain it is.
 */
export interface Provider {
  readonly name: string;
  readonly capabilities: {
    /** Whether an output that differs from the request in size, length or tracks is a failure. */
    exactOutput: boolean;
    /** How long after a submit ended a job may still be missing from the look-up. */
    findLagSeconds: number;
  };
  /**
   * Hands the job over, once: one try, no redirect, a fresh connection.
   * @param mayStillSend asked just before the first byte leaves; when it says no, nothing is sent
   */
  submit(submission: Submission, mayStillSend: () => boolean): Promise<SubmitOutcome>;
  find(attemptId: string): Promise<FindOutcome>;
  read(jobId: string): Promise<JobStatus>;
  /** @throws OutputGone when the result can't be had any more */
  openOutput(output: OutputReference): Promise<AsyncIterable<Uint8Array>>;
  /** Work that the provider does within this process, if any. */
  start?(): void;
  stop?(): Promise<void>;
}

/** The provider no longer has the result. */
export class OutputGone extends Error {
  override name = 'OutputGone';
}
