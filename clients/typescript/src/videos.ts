import { type DownloadOptions, download, type Target } from './download.ts';
import { ApiError, TaskFailedError } from './errors.ts';
import { type GenerateRequest, uploadMedia } from './media.ts';
import type { CancelResult, Quote, TaskList, VideoRequest, VideoTask } from './openapi.ts';
import {
  type Call,
  type CallOptions,
  newKey,
  pause,
  readJson,
  type Settings,
  send,
  sendJson,
} from './request.ts';
import type { Uploads } from './uploads.ts';

export interface CreateOptions extends CallOptions {
  /** Names the request: it is never made or charged twice. One is made up when it is not given. */
  idempotencyKey?: string | undefined;
}

export interface WaitOptions extends CreateOptions {
  /** Called at each read of the task. */
  onProgress?: ((task: VideoTask) => void) | undefined;
}

/** A completed task. */
export interface Video extends VideoTask {
  /** A link to the video. It expires; a download takes a fresh one. */
  url: string;
  /** Writes the video to a file, which appears when it is whole, or to a stream. */
  download(target: Target, options?: DownloadOptions): Promise<void>;
}

export interface ListFilter {
  status?: VideoTask['status'] | undefined;
  model?: VideoTask['model'] | undefined;
  created_after?: string | undefined;
  created_before?: string | undefined;
  /** How many tasks are read at once. */
  limit?: number | undefined;
}

/** How long one read waits for the end of a task. Proxies end requests that take longer. */
const WAIT_SECONDS = 25;
/** Between two reads of a service that does not wait. */
const POLL_MS = 3_000;
/** A wait outlives a restart of the service: it goes on for four minutes without a response. */
const LEAST_RETRIES_OF_A_WAIT = 40;

export class Videos {
  readonly #settings: Settings;
  readonly #uploads: Uploads;
  constructor(settings: Settings, uploads: Uploads) {
    this.#settings = settings;
    this.#uploads = uploads;
  }

  /** Creates a task. The credits are reserved, and refunded if it fails. */
  async create(request: GenerateRequest, options: CreateOptions = {}): Promise<VideoTask> {
    const { signal, idempotencyKey = newKey() } = options;
    const body = await this.prepare(request, { signal });
    const path = '/video/generations';
    const call = { method: 'POST', path, body, idempotencyKey, signal };
    return sendJson<VideoTask>(this.#settings, call).catch((error) => {
      throw JSON.stringify(body) === JSON.stringify(request) ? error : afterUploads(error);
    });
  }

  /**
   * Uploads the files of a request, and names them by their addresses. Keep the result with a key
   * of your own: both can be sent again after a crash.
   */
  prepare(request: GenerateRequest, options: CallOptions = {}): Promise<VideoRequest> {
    return uploadMedia(request, (file) => this.#uploads.create(file, options));
  }

  /** The price of a request; nothing is created. */
  async quote(request: GenerateRequest, { signal }: CallOptions = {}): Promise<Quote> {
    const body = await this.prepare(request, { signal });
    return sendJson(this.#settings, { method: 'POST', path: '/video/quotes', body, signal });
  }

  get(id: string, { signal }: CallOptions = {}): Promise<VideoTask> {
    return sendJson(this.#settings, { method: 'GET', path: pathOf(id), taskId: id, signal });
  }

  /**
   * Waits for the end of a task, also through lost connections and a restart of the service.
   * @throws TaskFailedError
   */
  async wait(task: string | VideoTask, options: WaitOptions = {}): Promise<Video> {
    const { onProgress, idempotencyKey, signal } = options;
    const id = typeof task === 'string' ? task : task.id;
    const call: Call = {
      method: 'GET',
      path: pathOf(id),
      headers: { prefer: `wait=${WAIT_SECONDS}` },
      leastRetries: LEAST_RETRIES_OF_A_WAIT,
      taskId: id,
      idempotencyKey,
      signal,
    };
    let now = typeof task === 'string' ? await this.get(id, options) : task;
    for (;;) {
      onProgress?.(now);
      if (now.status === 'completed') return this.#videoOf(now);
      if (now.status === 'failed') throw new TaskFailedError(now, idempotencyKey);
      const { task: next, hasWaited } = await send(this.#settings, call, readWaited);
      if (next.status === 'processing' && !hasWaited) await pause(POLL_MS, call);
      now = next;
    }
  }

  /** All tasks, the newest first. */
  async *list(filter: ListFilter = {}, { signal }: CallOptions = {}): AsyncGenerator<VideoTask> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(filter)) {
      if (value !== undefined) query.set(name, String(value));
    }
    for (;;) {
      const path = `/tasks?${query}`;
      const page = await sendJson<TaskList>(this.#settings, { method: 'GET', path, signal });
      yield* page.data;
      if (page.next_cursor === null) return;
      query.set('cursor', page.next_cursor);
    }
  }

  /** Asks for the end of a task; its credits are refunded if no video will be made. */
  cancel(id: string, { signal }: CallOptions = {}): Promise<CancelResult> {
    const path = `${pathOf(id)}/cancel`;
    return sendJson(this.#settings, { method: 'POST', path, taskId: id, signal });
  }

  /** Writes the video of a completed task, as `Video.download` does. */
  download(id: string, target: Target, options: DownloadOptions = {}): Promise<void> {
    const { signal, from } = options;
    return download({ settings: this.#settings, taskId: id, signal }, target, from);
  }

  #videoOf(task: VideoTask): Video {
    return {
      ...task,
      url: task.output?.video_url ?? '',
      download: (target, options) => this.download(task.id, target, options),
    };
  }
}

/** A file has another address after each upload: with a new key, the first request is paid too. */
function afterUploads(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.code !== 'idempotency_conflict') return error;
  const message = `${error.message} Upload files once, and send their url with this key.`;
  return new ApiError(message, { ...error, charged: 'reserved', retry: 'never' });
}

const pathOf = (id: string) => `/tasks/${encodeURIComponent(id)}`;

async function readWaited(response: Response) {
  const hasWaited = response.headers.has('preference-applied');
  return { task: await readJson<VideoTask>(response), hasWaited };
}
