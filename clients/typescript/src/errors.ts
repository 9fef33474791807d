import type { ErrorDetails, ErrorResponse, VideoTask } from './openapi.ts';

/** What became of the credits of this request; `reserved` is also said when it is not known. */
export type Charged = NonNullable<ErrorDetails['charged']>;

/** The Idempotency-Key to send the same request with; `never`: it can't succeed unchanged. */
export type Retry = NonNullable<ErrorDetails['retry']>;

export interface Facts {
  charged: Charged;
  retry: Retry;
  /** The service's name for the request, for a report of a problem. */
  requestId?: string | undefined;
  /** The Idempotency-Key of the call, the same in all its tries. */
  idempotencyKey?: string | undefined;
  /** The task that was created. */
  taskId?: string | undefined;
}

/** What every error of a call has. */
export abstract class FramewrightError extends Error implements Facts {
  abstract override readonly name: string;
  abstract readonly code: string;
  declare readonly charged: Charged;
  declare readonly retry: Retry;
  declare readonly requestId: string | undefined;
  declare readonly idempotencyKey: string | undefined;
  declare readonly taskId: string | undefined;
  constructor(message: string, facts: Facts, cause?: unknown) {
    super(message, { cause });
    Object.assign(this, facts);
  }
}

type OwnFacts = 'code' | 'status' | 'details' | 'retryAfterSeconds';

/** The service responded with an error. */
export class ApiError extends FramewrightError {
  override readonly name = 'ApiError';
  declare readonly code: ErrorResponse['error']['code'] | 'unknown';
  declare readonly status: number;
  declare readonly details: ErrorDetails;
  declare readonly retryAfterSeconds: number | undefined;
  constructor(message: string, facts: Facts & Pick<ApiError, OwnFacts>) {
    super(message, facts);
  }
}

/** No whole response came. The request may have arrived: send it again with the same key only. */
export class ConnectionError extends FramewrightError {
  override readonly name = 'ConnectionError';
  readonly code = 'no_response';
}

/** The caller's signal ended the call. A task that was created goes on. */
export class AbortError extends FramewrightError {
  override readonly name = 'AbortError';
  readonly code = 'aborted';
}

/** The task failed; its credits were refunded. */
export class TaskFailedError extends FramewrightError {
  override readonly name = 'TaskFailedError';
  declare readonly code: NonNullable<VideoTask['error']>['code'] | 'unknown';
  readonly task: VideoTask;
  constructor(task: VideoTask, idempotencyKey: string | undefined) {
    const { code = 'unknown', message = 'The task failed.' } = task.error ?? {};
    const facts = { charged: 'refunded', retry: 'new_key', taskId: task.id } as const;
    super(message, Object.assign({ code, idempotencyKey }, facts));
    this.task = task;
  }
}

/** A webhook that is not genuine, or too old. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  readonly code = 'invalid_signature';
}

/** Every error that a call can end with. */
export type CallError = ApiError | ConnectionError | AbortError | TaskFailedError;
