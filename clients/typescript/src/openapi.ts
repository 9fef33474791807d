// The API's JSON types, kept in line with openapi.json by test/openapi.test.ts.

export type Model = 'video-2.0' | 'video-2.0-fast' | 'video-2.0-mini';
export type Mode = 'text-to-video' | 'image-to-video' | 'media-to-video';
export type EventType = 'task.completed' | 'task.failed' | 'task.held' | 'credits.low';

export interface VideoTask {
  id: string;
  /** `completed` and `failed` are final. */
  status: 'processing' | 'completed' | 'failed';
  model: Model;
  mode: Mode;
  /** The task's price. */
  credits_used: number;
  /** Credits returned to the balance. */
  credits_refunded: number;
  /** null until the task is completed. */
  output: {
    /** A link that needs no API key and expires. Each read of the task makes a new one. */
    video_url: string;
  } | null;
  /** null unless the task failed; then its credits are refunded. */
  error: {
    /** Explained at /docs/errors#failed-tasks. */
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
    message: string;
  } | null;
  created_at: string | null;
  updated_at: string | null;
}

export interface RefusedInput {
  /** The field in the body. */
  field: string;
  /** The index in a list field, from 0. */
  index?: number | undefined;
  /** Listed at /docs/errors#reason. */
  reason: string;
  message: string;
}

export interface ErrorDetails {
  /** For a create: what happened to its credits; `reserved` also if that is unknown. */
  charged?: 'no' | 'reserved' | 'refunded' | undefined;
  /** For a create: the Idempotency-Key to retry the same body with. */
  retry?: 'same_key' | 'new_key' | 'never' | undefined;
  field?: string | undefined;
  /** The index in a list field, from 0. */
  entry?: number | undefined;
  /** Listed at /docs/errors#reason. */
  reason?: string | undefined;
  inputs?: RefusedInput[] | undefined;
  /** The created task. */
  task_id?: string | undefined;
  /** The task as it is now. */
  task?: VideoTask | undefined;
  /** What happened to the task's credits. */
  credits?: 'refunded' | 'held' | undefined;
  /** With 402: the request's price. */
  required_credits?: number | undefined;
  /** true if the request used a test key. */
  test?: boolean | undefined;
}

export interface ErrorResponse {
  error: {
    /** Branch on this, never on the message. */
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
  /** Prices: see `models.list`. */
  model?: Model | undefined;
  /** What the video shows. */
  prompt: string;
  /** Width:height. `adaptive`: the ratio nearest to the first image or video, else 16:9. */
  aspect_ratio?: '1:1' | '21:9' | '4:3' | '3:4' | '16:9' | '9:16' | 'adaptive' | undefined;
  /** In seconds. */
  duration?: number | undefined;
  /** Not every model offers every resolution. */
  resolution?: '480p' | '720p' | '1080p' | '4k' | undefined;
  /** The first frame: an https URL, or an upload. */
  image_url?: string | undefined;
  /** The last frame: an https URL, or an upload. */
  end_image_url?: string | undefined;
  reference_image_urls?: string[] | undefined;
  /** Reference videos. Their seconds are billed too, and every second costs less. */
  reference_video_urls?: string[] | undefined;
  /** The whole seconds of each reference video, in order. */
  reference_video_durations?: number[] | undefined;
  /** Whether the video has sound. */
  generate_audio?: boolean | undefined;
  /** -1: chosen by the service. */
  seed?: number | undefined;
}

export interface Quote {
  /** The credits that a create with this body reserves. */
  credits: number;
  credits_per_second: number;
  output_seconds: number;
  /** The declared seconds of all reference videos. */
  reference_seconds: number;
  /** Paid credits that the API can spend now. */
  available_credits: number;
  /** Whether they, and the API key's monthly cap, suffice for a create now. */
  enough: boolean;
}

export interface TaskList {
  /** Newest task first. */
  data: VideoTask[];
  /**
   * Send it as cursor, with the same filters, for the next page; null: no more tasks. With a
   * filter, a page may have fewer tasks than the limit although more pages follow.
   */
  next_cursor: string | null;
}

export interface CreditMovement {
  created_at: string;
  /** The kind of credits, such as `paid`. */
  kind: string;
  /** `reserve`: reserved for the task; `capture`: spent; `refund`: returned to the balance. */
  reason: string;
  credits: number;
}

/** Oldest movement first. */
export type TaskLedger = { data: CreditMovement[] };

export interface CancelResult {
  /**
   * `cancelled`: the task failed and its credits were refunded. `pending`: the provider was asked;
   * read the task to see how it ends. `refused`: the task continues.
   */
  cancel: 'cancelled' | 'pending' | 'refused';
  /**
   * Why it was refused. `video_is_finished`: the video already exists, or is being copied.
   * `provider_cannot`: the provider can't cancel this job.
   */
  refusal: string | null;
  task: VideoTask;
}

export interface CreditBalance {
  /** Paid credits that the API can spend. */
  available_credits: number;
  balance_type: 'paid';
}

/** Both inclusive. */
export type Bounds = { min: number; max: number };

export interface ModelCatalog {
  data: {
    id: string;
    resolutions: string[];
    /** Credits per second of output, by resolution; missing ones are not offered. */
    credits_per_second: {
      standard: Record<string, number>;
      /** With reference videos, whose seconds are billed too. */
      referenced: Record<string, number>;
    };
  }[];
  /** Increases with every price change. A task keeps the price of its create. */
  price_version: number;
  /** What a request can be made from. */
  modes: {
    id: string;
    /** The media fields that the mode accepts. */
    accepts: string[];
    /** The mode requires at least one of these fields. */
    requires_one_of: string[];
  }[];
  aspect_ratios: string[];
  prompt_characters: Bounds;
  duration_seconds: Bounds;
  /** Limits for a request's files. */
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
  /** For the media fields of a create by the same account. It can't be fetched. */
  url: string;
  /** When the file will be deleted. Each use extends this to a day later. */
  expires_at: string;
  kind: 'image' | 'video';
  /** Such as video/mp4. */
  media_type: string;
  size_bytes: number;
  /** Pixels as displayed. */
  width: number | null;
  /** Pixels as displayed. */
  height: number | null;
  /** A video's exact seconds. `reference_video_durations` takes them rounded. */
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
  /** For the media fields of a create by the same account. It can't be fetched. */
  url: string;
  /** When the file will be deleted if it is not used before. */
  expires_at: string;
  /** How to send the bytes: PUT to this URL, without a key, with exactly these headers. */
  upload: {
    method: 'PUT';
    url: string;
    headers: { 'content-type': string; 'content-length': string };
    /** The latest start of the PUT. */
    expires_at: string;
  };
}

export interface WebhookEndpoint {
  id: string;
  /** Whether it gets events of live or test tasks. */
  mode: 'live' | 'test';
  /** Where events are sent; null: they are only logged. */
  url: string | null;
  description: string | null;
  events: EventType[];
  created_at: string | null;
  /** null: it is enabled. */
  disabled_at: string | null;
  /** `owner`: it was disabled. `gone`: it responded 410. `failing`: it failed for five days. */
  disabled_because: string | null;
  /** Since when all deliveries have failed; null: the last one succeeded. */
  failing_since: string | null;
  /** Until when the previous secret also signs. */
  earlier_secret_until: string | null;
}

export interface WebhookEndpointWithSecret extends WebhookEndpoint {
  /** Signs the deliveries. Shown only in this response. */
  secret: string;
}

/** Oldest first. */
export type WebhookEndpointList = { data: WebhookEndpoint[] };

export interface WebhookEndpointRequest {
  /** A public https URL that accepts POST; without it, events are only logged. */
  url?: string | undefined;
  events: EventType[];
  /** Without control characters. */
  description?: string | undefined;
}

export interface WebhookEndpointChanges extends Omit<WebhookEndpointRequest, 'events'> {
  events?: EventType[] | undefined;
  /** true also clears past failures. */
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
  /** The first KiB of the response body. */
  response: string | null;
}

export interface WebhookDelivery {
  /** The same in each try; also the header webhook-id. */
  event_id: string;
  type: string;
  task_id: string | null;
  /** The event's data; null: it is about a task, which is read at delivery. */
  data: Record<string, unknown> | null;
  created_at: string | null;
  /** `failed`: it won't be retried. `logged`: the endpoint had no URL, so nothing is sent. */
  state: 'waiting' | 'delivered' | 'failed' | 'logged';
  /** null: no further tries. */
  next_attempt_at: string | null;
  /** Oldest first. */
  attempts: WebhookAttempt[];
}

export interface WebhookDeliveryList {
  /** Newest event first. */
  data: WebhookDelivery[];
  /** Send it as cursor for the next page; null: there are no more. */
  next_cursor: string | null;
}

/** As in the header webhook-id. */
export type WebhookEventId = { event_id: string };

interface EventOf<Type, Data> {
  type: Type;
  /** When it happened. */
  timestamp: string;
  /** Whether it is about a test task. */
  mode: 'live' | 'test';
  /** A task is as it was when the event was sent. */
  data: Data;
}

export type TaskEvent = EventOf<'task.completed' | 'task.failed' | 'task.held', VideoTask>;

/** `available_credits` fell below the account's limit. */
export type CreditsLowEvent = EventOf<
  'credits.low',
  { available_credits: number; below_credits: number }
>;

export type TestEvent = EventOf<'webhook.test', { message: string }>;

export type WebhookEvent = TaskEvent | CreditsLowEvent | TestEvent;
