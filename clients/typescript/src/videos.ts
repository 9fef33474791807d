import { type DownloadOptions, download, type Target } from './download.ts';
import { ConflictError, TaskFailedError } from './errors.ts';
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
  type Timed,
  type WithRequestId,
  withDeadline,
  withRequestId,
} from './request.ts';
import { type GenerateRequest, type Uploads, uploadMedia } from './uploads.ts';

export interface CreateOptions extends CallOptions {
  /** With the same key, a video is never made or charged twice. By default, a random key. */
  idempotencyKey?: string | undefined;
}

export interface WaitOptions extends CreateOptions {
  /** Called at each read of the task. */
  onProgress?: ((task: VideoTask) => void) | undefined;
}

export interface Video extends WithRequestId<VideoTask> {
  /** A link to the video. It expires; a download gets a fresh one. */
  url: string;
  /** Writes the video to a stream, or to a file, which appears once it is complete. */
  download(target: Target, options?: DownloadOptions): Promise<void>;
}

export interface ListFilter {
  status?: VideoTask['status'] | undefined;
  model?: VideoTask['model'] | undefined;
  created_after?: string | undefined;
  created_before?: string | undefined;
  /** How many tasks are read per page. */
  limit?: number | undefined;
}

/** How long one read waits for a task to end. Proxies cut longer requests. */
const WAIT_SECONDS = 25;
/** The pause between reads if the service ignores `Prefer: wait`. */
const POLL_MS = 3_000;
/** Enough for about four minutes without a response, such as a restart of the service. */
const LEAST_RETRIES_OF_A_WAIT = 40;

export class Videos {
  readonly #settings: Settings;
  readonly #uploads: Uploads;
  constructor(settings: Settings, uploads: Uploads) {
    this.#settings = settings;
    this.#uploads = uploads;
  }

  /** Creates a task. Its credits are reserved, and refunded if it fails. */
  async create(
    request: GenerateRequest,
    given: CreateOptions = {},
  ): Promise<WithRequestId<VideoTask>> {
    const { idempotencyKey = newKey(), ...options } = withDeadline(given);
    let hasFiles = false;
    const body = await uploadMedia(request, (file) => {
      hasFiles = true;
      return this.#uploads.create(file, options);
    });
    const path = '/video/generations';
    const call = { ...options, method: 'POST', path, body, idempotencyKey };
    return sendJson<VideoTask>(this.#settings, call).catch((error) => {
      throw hasFiles ? withUploadAdvice(error) : error;
    });
  }

  /**
   * Uploads a request's files and replaces them with their URLs. Store the result with an
   * Idempotency-Key of your own, to send both again after a crash.
   */
  prepare(request: GenerateRequest, given: CallOptions = {}): Promise<VideoRequest> {
    const options = withDeadline(given);
    return uploadMedia(request, (file) => this.#uploads.create(file, options));
  }

  /** Prices a request; nothing is created. */
  async quote(request: GenerateRequest, given: CallOptions = {}): Promise<WithRequestId<Quote>> {
    const options = withDeadline(given);
    const body = await this.prepare(request, options);
    return sendJson(this.#settings, { ...options, method: 'POST', path: '/video/quotes', body });
  }

  get(id: string, options: CallOptions = {}): Promise<WithRequestId<VideoTask>> {
    return sendJson(this.#settings, { ...options, method: 'GET', path: pathOf(id), taskId: id });
  }

  /**
   * Waits until a task is completed, across lost connections and restarts of the service.
   * @throws TaskFailedError, WaitTimeoutError
   */
  async wait(task: string | VideoTask, given: WaitOptions = {}): Promise<Video> {
    const { onProgress, ...options } = withDeadline(given);
    const id = typeof task === 'string' ? task : task.id;
    const call: Call = {
      ...options,
      method: 'GET',
      path: pathOf(id),
      leastRetries: options.maxRetries === undefined ? LEAST_RETRIES_OF_A_WAIT : undefined,
      taskId: id,
    };
    let now: WithRequestId<VideoTask> =
      typeof task === 'string' ? await sendJson<VideoTask>(this.#settings, call) : task;
    for (;;) {
      onProgress?.(now);
      if (now.status === 'completed') return this.#videoOf(now, options);
      if (now.status === 'failed') throw new TaskFailedError(now, options.idempotencyKey);
      const { task: next, hasWaited } = await send(this.#settings, waitingRead(call), readWaited);
      if (next.status === 'processing' && !hasWaited) await pause(POLL_MS, call);
      now = next;
    }
  }

  /** Newest first. */
  async *list(filter: ListFilter = {}, options: CallOptions = {}): AsyncGenerator<VideoTask> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(filter)) {
      if (value !== undefined) query.set(name, String(value));
    }
    for (;;) {
      const path = `/tasks?${query}`;
      const page = await sendJson<TaskList>(this.#settings, { ...options, method: 'GET', path });
      yield* page.data;
      if (page.next_cursor === null) return;
      query.set('cursor', page.next_cursor);
    }
  }

  /** Asks to cancel a task; its credits are refunded if no video will be made. */
  cancel(id: string, options: CallOptions = {}): Promise<WithRequestId<CancelResult>> {
    const path = `${pathOf(id)}/cancel`;
    return sendJson(this.#settings, { ...options, method: 'POST', path, taskId: id });
  }

  /** Writes a completed task's video, as `Video.download` does. */
  download(id: string, target: Target, given: DownloadOptions = {}): Promise<void> {
    const { from, ...options } = withDeadline(given);
    return download({ settings: this.#settings, options, taskId: id }, target, from);
  }

  #videoOf(task: WithRequestId<VideoTask>, options: Timed & CreateOptions): Video {
    const { deadline, timeoutMs, maxRetries, idempotencyKey } = options;
    const totalTimeoutMs = deadline && Math.max(1, deadline.atMs - performance.now());
    const usual = { timeoutMs, maxRetries, idempotencyKey, totalTimeoutMs };
    const video: Video = {
      ...task,
      url: task.output?.video_url ?? '',
      download: (target, own) => this.download(task.id, target, { ...usual, ...own }),
    };
    return withRequestId(video, task.requestId);
  }
}

function waitingRead(call: Call): Call {
  const leftMs = (call.deadline?.atMs ?? Number.POSITIVE_INFINITY) - performance.now();
  const waitSeconds = Math.max(1, Math.min(WAIT_SECONDS, Math.ceil(leftMs / 1000)));
  return { ...call, waitSeconds, headers: { prefer: `wait=${waitSeconds}` } };
}

/**
 * Adds advice to an idempotency conflict: if the files were uploaded again, their new URLs make
 * another body. A new key would pay for a second video.
 */
function withUploadAdvice(error: unknown): unknown {
  if (!(error instanceof ConflictError) || error.code !== 'idempotency_conflict') return error;
  const message = `${error.message} Upload files once, and send their url with this key.`;
  return Object.assign(error, { message, charged: 'reserved', retry: 'never' });
}

const pathOf = (id: string) => `/tasks/${encodeURIComponent(id)}`;

async function readWaited(response: Response) {
  const hasWaited = response.headers.has('preference-applied');
  return { task: await readJson<VideoTask>(response), hasWaited };
}
