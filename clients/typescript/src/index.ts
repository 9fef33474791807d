export type { DownloadOptions, Target } from './download.ts';
export {
  AbortError,
  ApiError,
  AuthenticationError,
  type CallError,
  type Charged,
  ConflictError,
  ConnectionError,
  DownloadError,
  FramewrightError,
  InsufficientCreditsError,
  InvalidRequestError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  type Retry,
  ServerError,
  SettingsError,
  TaskFailedError,
  WaitTimeoutError,
  WebhookError,
} from './errors.ts';
export { Framewright, type FramewrightOptions } from './framewright.ts';
export type * from './openapi.ts';
export type { CallOptions, WithRequestId } from './request.ts';
export type { FileSource, GenerateRequest, Media } from './uploads.ts';
export { VERSION } from './version.ts';
export type { CreateOptions, ListFilter, Video, WaitOptions } from './videos.ts';
export { type SignOptions, sign as signWebhook, verify as verifyWebhook } from './webhooks.ts';
