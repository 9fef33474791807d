import type { AspectRatio, Mode, Model, Resolution } from '../catalog/models.ts';

/** One copied client file as a provider is given it. */
export interface ProviderInput {
  role: 'first_frame' | 'last_frame' | 'reference_image' | 'reference_video';
  /** The managed copy. */
  objectId: string;
  mediaType: string;
  /** A signed link to the managed copy, for providers that fetch; works for two days or more. */
  url: string;
}

/** One attempt to hand a task to a provider. */
export interface JobSpec {
  /** Unique to the attempt; a provider that takes a client's own id gets this one. */
  attemptId: string;
  mode: Mode;
  model: Model;
  prompt: string;
  aspectRatio: AspectRatio;
  resolution: Resolution;
  durationSeconds: number;
  generateAudio: boolean;
  /** 0 to 4294967295. */
  seed: number;
  inputs: ProviderInput[];
  /** Where the provider may call back: holds an unguessable token of this attempt. */
  callbackUrl: string;
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
      /** Public words. */
      message: string;
      /** The provider's own words and codes, for operators. */
      cause?: string;
    }
  | { kind: 'rejected'; fault: 'busy' | 'operator'; cause: string; retryAfterSeconds?: number }
  | { kind: 'not_sent'; cause: string }
  /** `bytesSent`: how many bytes of the request were handed to the connection, where known. */
  | { kind: 'unknown'; cause: string; bytesSent?: number | undefined };

/** What is known of an attempt when its job is looked for. Times are milliseconds since 1970. */
export interface FindJobInput {
  jobSpec: JobSpec;
  /** The submit's bytes left after `from` and its answer was given up before `to`. */
  sentBetween: { from: number; to: number };
  /** Of these ids (as `find` would return them), the ones that belong to other attempts already. */
  takenJobIds(jobIds: string[]): Promise<Set<string>>;
}

/**
 * Whether the provider has a job of an attempt. Found by its `mark`, the job is this attempt's; by
 * `likeness`, it only looks so and nobody else has it yet. Absence is `final` when no job of it can
 * appear any more, `strong` when it counts once the submit can't be on its way any more, `weak`
 * when it is only a hint.
 */
export type FindOutcome =
  | { kind: 'found'; jobId: string; by: 'mark' | 'likeness' }
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
      /** Public words. */
      message: string;
      /** The provider's own words and codes, for operators. */
      cause?: string;
      /** Whether the provider charges the operator for it; null where it does not say. */
      billed: boolean | null;
    }
  /** The provider does not know the job (any more). */
  | { kind: 'missing' };

/** What a callback says. Without a good signature it is but a hint of where to look. */
export type Callback =
  /** `jobId` when the body names one; `verified` when its signature proves who sent it. */
  { kind: 'news'; jobId: string | null; verified: boolean } | { kind: 'forged'; cause: string };

export interface Capabilities {
  /** Whether an output that differs from the request in size, length or tracks is a failure. */
  exactOutput: boolean;
  /** How long after a submit ended a job may still be missing from the look-up. */
  findLagSeconds: number;
  /** When the provider itself gives up on a job, counted from acceptance. */
  jobLimitSeconds: number;
  /** How long after success a result can be fetched. */
  outputLifeSeconds: number;
  /** Shares of a budget that all processes of an account share; calls per second. */
  budgets: Partial<Record<'submit' | 'read' | 'find', { callsPerSecond: number }>>;
}

/**
 * What a generation provider can do. The host owns time: a provider never waits, retries or
 * schedules by itself. All calls may throw for passing failures, except `submit`, which must say
 * how certain it is.
 */
export interface Provider {
  readonly name: string;
  /**
   * Tells the account, address and settings that look-ups depend on from others, as a digest that
   * holds no secret: a job that is not found there may well be elsewhere.
   */
  readonly identity: string;
  readonly capabilities: Capabilities;
  /**
   * Brings files to the provider ahead of the submit, which has seconds from its record to begin.
   * It may be done again; what did not arrive is the submit's to tell.
   */
  prepare?(inputs: ProviderInput[]): Promise<void>;
  /**
   * Hands the job over, once: one try, no redirect, a fresh connection.
   * @param mayStillSend asked just before the first byte leaves; when it says no, nothing is sent
   */
  submit(jobSpec: JobSpec, mayStillSend: () => boolean): Promise<SubmitOutcome>;
  find(attempt: FindJobInput): Promise<FindOutcome>;
  read(jobId: string): Promise<JobStatus>;
  /** @throws OutputGone when the result can't be had any more */
  openOutput(output: OutputReference): Promise<AsyncIterable<Uint8Array>>;
  /** Understands a POST to the attempt's callback URL. `body` is the raw bytes. */
  readCallback?(callback: {
    body: Uint8Array;
    headers: Record<string, string | undefined>;
  }): Promise<Callback>;
  /** Work that the provider does within this process, if any. */
  start?(): void;
  stop?(): Promise<void>;
}

/** The provider no longer has the result. */
export class OutputGone extends Error {
  override name = 'OutputGone';
}
