// The room providers/: what the service expects from a provider, and an adapter for each provider.
// registry.ts lists them; the circuit breaker and rate budgets apply to all.

import type { AspectRatio } from '../catalog/models.ts';
import type { GenerationRequest, Parameters } from '../catalog/request.ts';

/** What each field's file is to a provider. */
export const ROLES = {
  image_url: 'first_frame',
  end_image_url: 'last_frame',
  reference_image_urls: 'reference_image',
  reference_video_urls: 'reference_video',
} as const;

export interface ProviderInput {
  role: (typeof ROLES)[keyof typeof ROLES];
  /** The object that holds the service's own copy. */
  objectId: string;
  mediaType: string;
  /** A signed link to the copy, for providers that fetch. It is valid for at least two days. */
  url: string;
}

/** What an adapter submits for one attempt. Files are in `inputs`, not in the request's fields. */
export interface JobSpec extends Omit<Parameters, 'aspect_ratio' | 'seed'> {
  /** Unique. A provider that lets its caller choose the job id gets this id or one made from it. */
  attemptId: string;
  /** The resolved ratio if the request has `adaptive`. */
  aspect_ratio: AspectRatio;
  /** Drawn by the service unless the request has one; 0 to 4294967295. */
  seed: number;
  /** The provider's own id of the model, if the route names one; else the adapter chooses it. */
  providerModel?: string;
  inputs: ProviderInput[];
  /** Where the provider may call back. Holds an unguessable token of this attempt. */
  callbackUrl: string;
}

/**
 * The outcome of a submit. After `unknown` the provider may have accepted the job, so the task is
 * held until there is evidence. Faults: `request` is the client's; `busy` is temporary; `operator`
 * needs someone to fix the set-up (a wrong key, an overdue account, a missing model).
 */
export type SubmitOutcome =
  | { kind: 'accepted'; jobId: string }
  | {
      kind: 'rejected';
      fault: 'request';
      code: 'content_refused' | 'invalid_media' | 'invalid_request';
      /** Public: clients see it. */
      message: string;
      /** The provider's own text and codes, for operators. */
      cause?: string;
    }
  | { kind: 'rejected'; fault: 'busy' | 'operator'; cause: string; retryAfterSeconds?: number }
  | { kind: 'not_sent'; cause: string }
  /** `bytesSent`: how many bytes of the request were handed to the connection, if known. */
  | { kind: 'unknown'; cause: string; bytesSent?: number | undefined };

/** What is known about an attempt whose job is to be found. Times are milliseconds since 1970. */
export interface FindJobInput {
  jobSpec: JobSpec;
  /** The submit was sent after `from`. It ended before `to`, or `to` is now. */
  sentBetween: { from: number; to: number };
  /** Which of these ids (as `find` returns them) already belong to other attempts. */
  takenJobIds(jobIds: string[]): Promise<Set<string>>;
}

/**
 * A job found by its `mark` is the attempt's. One found by `likeness` only looks like what was
 * sent, and no other attempt owns it yet. Absence is `final` if no job of the attempt can appear
 * later, `strong` if it becomes a proof once the submit can't be under way any more, `weak` if it
 * is only a hint.
 */
export type FindOutcome =
  | { kind: 'found'; jobId: string; by: 'mark' | 'likeness' }
  | { kind: 'absent'; proof: 'final' | 'strong' | 'weak' }
  | { kind: 'ambiguous'; jobIds: string[] };

/** Where the result can be fetched, in the provider's own format. Stored with the task as JSON. */
export type OutputReference = Record<string, string>;

/** What the provider reports that it charges the operator for a job. */
export interface JobCost {
  /** An exact decimal, such as `0.1312`. */
  amount: string;
  /** Three letters, such as usd. */
  currency: string;
}

/** What the provider reports about the price of an ended job. */
type JobCharge = {
  cost?: JobCost;
  /** How long the job computed, for prices by compute second. Any number: the caller checks it. */
  computeSeconds?: number;
};

export type JobStatus =
  | { kind: 'working' }
  | ({ kind: 'succeeded'; output: OutputReference } & JobCharge)
  | ({
      kind: 'failed';
      code: 'provider_failed' | 'content_refused' | 'generation_expired';
      /** Public: clients see it. */
      message: string;
      /** The provider's own text and codes, for operators. */
      cause?: string;
      /** Whether the provider charges the operator for the job; null if it does not say. */
      billed: boolean | null;
      /**
       * Whether the provider itself is certainly at fault, so that another may make the video. Left
       * out: the cause may be the content, a file or a parameter, or a person cancelled the job.
       */
      isProviderFault?: boolean;
    } & JobCharge)
  /** The provider does not know the job, or does not know it any more. */
  | { kind: 'missing' };

/**
 * `accepted`: the provider cancels the job, or has cancelled it; later reads show how it ended,
 * which may still be success. `refused`: the job goes on.
 */
export type CancelOutcome = { kind: 'accepted' } | { kind: 'refused'; cause: string };

/**
 * Without a valid signature, a callback is only a hint which job to read. `jobId`: null if the body
 * names none. `verified`: the signature proves that the provider sent it.
 */
export type Callback =
  | { kind: 'report'; jobId: string | null; verified: boolean }
  | { kind: 'forged'; cause: string };

export interface Capabilities {
  /** Whether an output that differs from the request in size, length or tracks is a failure. */
  exactOutput: boolean;
  /** Whether many jobs have exactly the same output: then its bytes are decoded once. */
  repeatsOutputs?: boolean;
  /** Whether its videos are drawn by a program that is no AI model. */
  drawsPatterns?: boolean;
  /** How long after the end of a submit its job may still be missing from a find. */
  findLagSeconds: number;
  /** The pause between the finds of a held task, instead of RECONCILE_SECONDS. */
  findSeconds?: number;
  /** How long after acceptance the provider ends an unfinished job. */
  jobLimitSeconds: number;
  /** How long after success the result can be fetched; where that isn't known, a low guess. */
  outputLifeSeconds: number;
  /** The rate limits of a quota, which all processes share. Left out: calls without a limit. */
  budgets: Partial<Record<'submit' | 'read' | 'find', { callsPerSecond: number }>>;
}

/**
 * What an adapter implements. The caller (circuit breaker, rate limiter, steps) decides when calls
 * are made: an adapter never waits, retries or schedules by itself. A call may throw for a
 * temporary failure. `submit` must not throw: its outcome says whether the job may have been
 * accepted.
 */
export interface Provider {
  /** The name of the connection. */
  readonly name: string;
  /**
   * A digest, without secrets, of the account, address and settings that finds depend on. If it
   * differs from that of the submit, the job may be elsewhere, so its absence proves nothing.
   */
  readonly identity: string;
  readonly capabilities: Capabilities;
  /**
   * Whether the provider can make the video: model, mode, resolution, duration, ratio and files
   * decide. It need not have fields for seed and sound. Left out: it can make any video.
   * @param modelId as {@link JobSpec.providerModel}
   */
  canServe?(request: GenerationRequest, modelId: string | undefined): boolean;
  /**
   * Uploads files before the attempt is recorded, because the submit must begin within 5 s of the
   * record. May be called again. A file that did not arrive is reported by the submit.
   */
  prepare?(inputs: ProviderInput[]): Promise<void>;
  /**
   * Submits the job once: one try, no redirect, a fresh connection.
   * @param mayStillSend asked just before the first byte is sent; if it returns false, nothing is
   *   sent
   */
  submit(jobSpec: JobSpec, mayStillSend: () => boolean): Promise<SubmitOutcome>;
  find(attempt: FindJobInput): Promise<FindOutcome>;
  read(jobId: string): Promise<JobStatus>;
  /**
   * Cancels a job that waits or runs, if the provider has a call for it. A cancel must never remove
   * a finished result. It may be called again. Throws when the outcome is not known.
   */
  cancel?(jobId: string): Promise<CancelOutcome>;
  /** @throws OutputGone when the result can no longer be fetched */
  openOutput(output: OutputReference): Promise<AsyncIterable<Uint8Array>>;
  readCallback?(callback: {
    body: Uint8Array;
    headers: Record<string, string | undefined>;
  }): Promise<Callback>;
  /** Starts the work that the provider does within this process, if any. */
  start?(): void;
  stop?(): Promise<void>;
}

export type Adapter = Omit<Provider, 'name'>;

export interface HostedProvider extends Provider {
  /** See `attempts/find-job.ts`. undefined: weak absence never ends a task. */
  readonly assumeAbsentAfterHours?: number | undefined;
  /** How many reads the rate budget allows within the next second. Left out without a budget. */
  nearReads?(): Promise<number>;
  /**
   * The names of all connections of its kind, its own too. If they share an account, its list has
   * the jobs of all of them. Left out: only its own name.
   */
  readonly sameKind?: readonly string[];
}

/** The provider no longer has the result, or the guarded fetch refuses it for good. */
export class OutputGone extends Error {
  override name = 'OutputGone';
}
