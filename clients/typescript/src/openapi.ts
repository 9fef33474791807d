// The JSON of the API, as openapi.json describes it (test/openapi.test.ts).

export type Model = 'video-2.0' | 'video-2.0-fast' | 'video-2.0-mini';
export type Mode = 'text-to-video' | 'image-to-video' | 'media-to-video';
export type EventType = 'task.completed' | 'task.failed' | 'task.held' | 'credits.low';

export interface VideoTask {
  id: string;
  /** `completed` and `failed` are final. */
  status: 'processing' | 'completed' | 'failed';
  model: Model;
  mode: Mode;
  /** What the task costs. */
  credits_used: number;
  /** What was returned to the balance. */
  credits_refunded: number;
  /** null until the task is completed. */
  output: {
    /** A link that needs no API key and expires. Each read of the task makes a new one. */
    video_url: string;
  } | null;
  /** null unless the task failed; then its credits are refunded. */
  error: {
    /** Each is explained at /docs/errors#failed-tasks. */
    code:
      | 'invalid_media'
      | 'content_refused'
      | 'invalid_request'
      | 'provider_unavailable'
      | 'not_accepted'
      | 'provider_failed'
      | 'generation_expired'
      | 'output_unavailable'
      | 'cancelled';
    /** A sentence for people. */
    message: string;
  } | null;
  created_at: string | null;
  updated_at: string | null;
}

/** A file that was refused. */
export interface RefusedInput {
  /** The field of the body. */
  field: string;
  /** In a list field, from 0. */
  index?: number | undefined;
  /** The reasons are listed at /docs/errors#reason. */
  reason: string;
  /** A sentence for people. */
  message: string;
}

export interface ErrorDetails {
  /** Of a create: what became of its credits; `reserved` also if it is not known. */
  charged?: 'no' | 'reserved' | 'refunded' | undefined;
  /** Of a create: the Idempotency-Key to send the same body with. */
  retry?: 'same_key' | 'new_key' | 'never' | undefined;
  /** Where the error is. */
  field?: string | undefined;
  /** In a list field, from 0. */
  entry?: number | undefined;
  /** The reasons are listed at /docs/errors#reason. */
  reason?: string | undefined;
  inputs?: RefusedInput[] | undefined;
  /** The task that was created. */
  task_id?: string | undefined;
  /** The task as it is now. */
  task?: VideoTask | undefined;
  /** What happened to the credits of the task. */
  credits?: 'refunded' | 'held' | undefined;
  /** With 402: the price of the request. */
  required_credits?: number | undefined;
  /** true: the request has a test key. */
  test?: boolean | undefined;
}

export interface ErrorResponse {
  error: {
    /** Decide by it, never by the message. */
    code:
      | 'invalid_request'
      | 'unauthorized'
      | 'insufficient_credits'
      | 'not_found'
      | 'idempotency_conflict'
      | 'payload_too_large'
      | 'rate_limited'
      | 'service_busy'
      | 'method_not_allowed'
      | 'internal_error'
      | 'not_cancellable'
      | 'no_output'
      | 'upload_in_use';
    /** A sentence for people. */
    message: string;
    details?: ErrorDetails | undefined;
  };
}

export interface VideoRequest {
  /**
   * `image-to-video` takes `image_url` (required) and `end_image_url`; `media-to-video` takes the
   * reference fields, at least one image or video; `text-to-video` takes none of them.
   */
  mode?: Mode | undefined;
  /** `models.list` has their prices. */
  model?: Model | undefined;
  /** What the video shows. */
  prompt: string;
  /** Width to height. `adaptive`: the ratio nearest to the first image or video, else 16:9. */
  aspect_ratio?: '1:1' | '21:9' | '4:3' | '3:4' | '16:9' | '9:16' | 'adaptive' | undefined;
  /** Seconds. */
  duration?: number | undefined;
  /** Not every model offers each. */
  resolution?: '480p' | '720p' | '1080p' | '4k' | undefined;
  /** The first frame: HTTPS, or an upload. */
  image_url?: string | undefined;
  /** The last frame: HTTPS, or an upload. */
  end_image_url?: string | undefined;
  /** Images that the video refers to. */
  reference_image_urls?: string[] | undefined;
  /** Videos that the video refers to; their seconds are added, and all have a lower rate. */
  reference_video_urls?: string[] | undefined;
  /** Whole seconds of each reference video, in order. */
  reference_video_durations?: number[] | undefined;
  /** Whether the video has sound. */
  generate_audio?: boolean | undefined;
  /** -1: the service draws one. */
  seed?: number | undefined;
}

export interface Quote {
  /** What a create with this body reserves. */
  credits: number;
  credits_per_second: number;
  output_seconds: number;
  /** Of all reference videos together, as declared. */
  reference_seconds: number;
  /** Paid credits that the API can spend now. */
  available_credits: number;
  /** Whether they, and the monthly cap of the API key, suffice for a create now. */
  enough: boolean;
}

export interface TaskList {
  /** The newest task first. */
  data: VideoTask[];
  /**
   * Send it as cursor, with the same filters, for the next page; null: there are no more tasks.
   * With a filter, a page may have fewer tasks than its limit, and still a next page.
   */
  next_cursor: string | null;
}

export interface CreditMovement {
  created_at: string;
  /** Of the credits: paid. */
  kind: string;
  /** `reserve`: set aside for the task; `capture`: spent; `refund`: returned to the balance. */
  reason: string;
  credits: number;
}

export interface TaskLedger {
  /** The oldest movement first. */
  data: CreditMovement[];
}

export interface CancelResult {
  /**
   * `cancelled`: the task failed and its credits are refunded. `pending`: the provider was asked;
   * read the task to see how it ends. `refused`: the task goes on.
   */
  cancel: 'cancelled' | 'pending' | 'refused';
  /**
   * Why it was refused. `video_is_finished`: the video is there already, or is being copied.
   * `provider_cannot`: the provider does not cancel this job.
   */
  refusal: string | null;
  task: VideoTask;
}

export interface CreditBalance {
  /** Paid credits that the API can spend. */
  available_credits: number;
  balance_type: 'paid';
}

/** Both are included. */
export interface Bounds {
  min: number;
  max: number;
}

export interface ModelCatalog {
  data: {
    id: string;
    resolutions: string[];
    /** Of the output, by resolution; one that is missing is not offered. */
    credits_per_second: {
      standard: Record<string, number>;
      /** With reference videos, whose seconds count as well. */
      referenced: Record<string, number>;
    };
  }[];
  /** Grows whenever a price changes. A task keeps the price of its create. */
  price_version: number;
  /** What a request can be made from. */
  modes: {
    id: string;
    /** The media fields that the mode takes. */
    accepts: string[];
    /** The mode needs at least one of these fields. */
    requires_one_of: string[];
  }[];
  aspect_ratios: string[];
  prompt_characters: Bounds;
  duration_seconds: Bounds;
  /** Of the files of a request. */
  media: {
    max_total_bytes: number;
    max_reference_images: number;
    max_reference_videos: number;
    reference_video_seconds: Bounds;
    max_total_reference_seconds: number;
    /** Pixels of the shorter side, as displayed. */
    reference_video_short_side: Bounds;
    max_image_pixels: number;
    max_video_pixels: number;
  };
}

export interface Upload {
  id: string;
  /** For the media fields of a create of the same account. Nobody can fetch it. */
  url: string;
  /** When the file is deleted. Each use makes it a day from then. */
  expires_at: string;
  kind: 'image' | 'video';
  /** Such as video/mp4. */
  media_type: string;
  size_bytes: number;
  /** Pixels as displayed. */
  width: number | null;
  /** Pixels as displayed. */
  height: number | null;
  /** Of a video, not rounded. `reference_video_durations` takes it rounded. */
  duration_seconds: number | null;
}

export interface PresignedUploadRequest {
  content_type:
    | 'image/jpeg'
    | 'image/png'
    | 'image/webp'
    | 'video/mp4'
    | 'video/quicktime'
    | 'video/webm'
    | 'video/x-matroska';
  size_bytes: number;
}

export interface PresignedUpload {
  id: string;
  /** For the media fields of a create of the same account. Nobody can fetch it. */
  url: string;
  /** When the file is deleted if it was not used before. */
  expires_at: string;
  /** How to send the bytes: to this address, without a key, with exactly these headers. */
  upload: {
    method: 'PUT';
    url: string;
    headers: { 'content-type': string; 'content-length': string };
    /** Until when the PUT can begin. */
    expires_at: string;
  };
}

export interface WebhookEndpoint {
  id: string;
  /** Whether it hears of live or of test tasks. */
  mode: 'live' | 'test';
  /** Where events are sent; null: they are only kept in the log. */
  url: string | null;
  description: string | null;
  /** What it hears of. */
  events: EventType[];
  created_at: string | null;
  /** Since when nothing is sent to it; null: it is enabled. */
  disabled_at: string | null;
  /** `owner`: it was disabled. `gone`: it responded 410. `failing`: it failed for five days. */
  disabled_because: string | null;
  /** Since when every delivery fails; null: the last one arrived. */
  failing_since: string | null;
  /** Until when the previous secret signs too. */
  earlier_secret_until: string | null;
}

export interface WebhookEndpointWithSecret extends WebhookEndpoint {
  /** Signs the deliveries. It is shown only in this response. */
  secret: string;
}

export interface WebhookEndpointList {
  /** The oldest first. */
  data: WebhookEndpoint[];
}

export interface WebhookEndpointRequest {
  /** A public https address that takes a POST; without it, events are only logged. */
  url?: string | undefined;
  events: EventType[];
  /** Without control characters. */
  description?: string | undefined;
}

export interface WebhookEndpointChanges extends Omit<WebhookEndpointRequest, 'events'> {
  events?: EventType[] | undefined;
  /** true also forgets the failures of before. */
  enabled?: boolean | undefined;
}

export interface WebhookAttempt {
  /** When it began. */
  at: string | null;
  /** Milliseconds until the response. */
  duration_ms: number;
  /** The HTTP status; null without a response. */
  status: number | null;
  /** Why there was no response. */
  cause: string | null;
  /** The first KiB of the body of the response. */
  response: string | null;
}

export interface WebhookDelivery {
  /** The same in each try, and in the header webhook-id. */
  event_id: string;
  /** Of the event, such as task.completed. */
  type: string;
  /** The task that the event is about. */
  task_id: string | null;
  /** What the event says; null: it is about a task, which is read when it is sent. */
  data: Record<string, unknown> | null;
  /** When it happened. */
  created_at: string | null;
  /** `failed`: no further try is made. `logged`: the endpoint had no URL, so nothing is sent. */
  state: 'waiting' | 'delivered' | 'failed' | 'logged';
  /** null: it is not sent any more. */
  next_attempt_at: string | null;
  /** The oldest first. */
  attempts: WebhookAttempt[];
}

export interface WebhookDeliveryList {
  /** The newest event first. */
  data: WebhookDelivery[];
  /** Send it as cursor for the next page; null: there are no more. */
  next_cursor: string | null;
}

export interface WebhookEventId {
  /** As in the header webhook-id. */
  event_id: string;
}

interface EventOf<Type, Data> {
  type: Type;
  /** When it happened. */
  timestamp: string;
  /** Whether it is about a test task. */
  mode: 'live' | 'test';
  /** As it is when the event is sent. */
  data: Data;
}

export type TaskEvent = EventOf<'task.completed' | 'task.failed' | 'task.held', VideoTask>;

/** `available_credits` have fallen below the limit of the account. */
export type CreditsLowEvent = EventOf<
  'credits.low',
  { available_credits: number; below_credits: number }
>;

export type TestEvent = EventOf<'webhook.test', { message: string }>;

export type WebhookEvent = TaskEvent | CreditsLowEvent | TestEvent;
