import type { ErrorDetails, ErrorResponse, VideoTask } from './openapi.ts';

/** What happened to this request's credits; `reserved` also if that is unknown. */
export type Charged = NonNullable<ErrorDetails['charged']>;

/** Which Idempotency-Key to retry with; `never` if the request can't succeed unchanged. */
export type Retry = NonNullable<ErrorDetails['retry']>;

export type Facts = Pick<FramewrightError, 'charged' | 'retry'> &
  Partial<Pick<FramewrightError, 'requestId' | 'idempotencyKey' | 'taskId'>>;

/** The base class of all errors of a call. */
export abstract class FramewrightError extends Error {
  abstract override readonly name: string;
  abstract readonly code: string;
  declare readonly charged: Charged;
  declare readonly retry: Retry;
  /** The id of the request at the service, for questions about it. */
  declare readonly requestId: string | undefined;
  /** The call's Idempotency-Key, the same for all its tries. */
  declare readonly idempotencyKey: string | undefined;
  /** The created task. */
  declare readonly taskId: string | undefined;
  constructor(message: string, facts: Facts, cause?: unknown) {
    super(message, { cause });
    Object.assign(this, facts);
  }
}

type ApiFacts = Facts & Pick<ApiError, 'code' | 'status' | 'details' | 'retryAfterSeconds'>;

/** The service responded with an error. */
export class ApiError extends FramewrightError {
  override readonly name: string = 'ApiError';
  declare readonly code: ErrorResponse['error']['code'] | 'unknown';
  declare readonly status: number;
  declare readonly details: ErrorDetails;
  declare readonly retryAfterSeconds: number | undefined;
  constructor(message: string, facts: ApiFacts) {
    super(message, facts);
  }
}

/** 400, 413: the request can't succeed as it is. */
export class InvalidRequestError extends ApiError {
  override readonly name = 'InvalidRequestError';
}

/** 401: no valid API key. */
export class AuthenticationError extends ApiError {
  override readonly name = 'AuthenticationError';
}

/** 402: too few credits, or the monthly cap of the API key. */
export class InsufficientCreditsError extends ApiError {
  override readonly name = 'InsufficientCreditsError';
}

/** 403: not allowed, such as an expired link. */
export class PermissionDeniedError extends ApiError {
  override readonly name = 'PermissionDeniedError';
}

/** 404, 410: does not exist, or no longer does. */
export class NotFoundError extends ApiError {
  override readonly name = 'NotFoundError';
}

/** 409: the Idempotency-Key was used with another body, or the task's state does not allow it. */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError';
}

/** 429: too many requests. */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError';
}

/** 5xx: the service is busy, or failed. */
export class ServerError extends ApiError {
  override readonly name = 'ServerError';
}

const KINDS: Record<number, typeof ApiError> = {
  400: InvalidRequestError,
  401: AuthenticationError,
  402: InsufficientCreditsError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  410: NotFoundError,
  413: InvalidRequestError,
  429: RateLimitError,
};

export function apiErrorOf(message: string, facts: ApiFacts): ApiError {
  const Kind = KINDS[facts.status] ?? (facts.status >= 500 ? ServerError : ApiError);
  return new Kind(message, facts);
}

/**
 * No complete response arrived, or it redirected elsewhere. Unless `charged` is `no`, the request
 * may have arrived: retry only with the same key.
 */
export class ConnectionError extends FramewrightError {
  override readonly name = 'ConnectionError';
  declare readonly code: 'no_response' | 'redirected';
  constructor(message: string, facts: Facts & Pick<ConnectionError, 'code'>, cause?: unknown) {
    super(message, facts, cause);
  }
}

/** The API key or base URL is unusable. */
export class SettingsError extends FramewrightError {
  override readonly name = 'SettingsError';
  readonly code = 'invalid_settings';
  constructor(message: string) {
    super(`${message}; nothing was sent`, { charged: 'no', retry: 'same_key' });
  }
}

/** The call's `totalTimeoutMs` is over. A created task continues. */
export class WaitTimeoutError extends FramewrightError {
  override readonly name = 'WaitTimeoutError';
  readonly code = 'wait_timeout';
}

/** The caller's signal aborted the call. A created task continues. */
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

/** The task has no video yet, or its file has changed. The credits stay reserved or spent. */
export class DownloadError extends FramewrightError {
  override readonly name = 'DownloadError';
  readonly code = 'download_failed';
  constructor(message: string, taskId: string, idempotencyKey: string | undefined) {
    super(message, { charged: 'reserved', retry: 'same_key', taskId, idempotencyKey });
  }
}

/** The webhook is forged or too old. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  readonly code = 'invalid_signature';
}

/** Every error that a call can throw. */
export type CallError =
  | ApiError
  | ConnectionError
  | WaitTimeoutError
  | AbortError
  | TaskFailedError
  | DownloadError;
