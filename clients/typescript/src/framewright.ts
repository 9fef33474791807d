import { SettingsError } from './errors.ts';
import type { CreditBalance, ModelCatalog } from './openapi.ts';
import {
  type CallOptions,
  newKey,
  type RequestOptions,
  type Settings,
  sendJson,
  type WithRequestId,
  withDeadline,
} from './request.ts';
import { type GenerateRequest, Uploads } from './uploads.ts';
import { type Video, Videos, type WaitOptions } from './videos.ts';
import { sign, verify } from './webhooks.ts';

export interface FramewrightOptions {
  /** `fw_live_...` or `fw_test_...`; by default the environment's FRAMEWRIGHT_API_KEY. */
  apiKey?: string | undefined;
  /** Ends with `/api/v1`; by default the environment's FRAMEWRIGHT_BASE_URL. */
  baseUrl?: string | undefined;
  fetch?: typeof fetch | undefined;
  /** How often a request is retried; 5 by default. */
  maxRetries?: number | undefined;
  /** The timeout of one try; 60,000 by default. */
  timeoutMs?: number | undefined;
  /** Such as `console`: gets a line per try and pause, without the API key or bodies. */
  logger?: { debug(line: string): void } | undefined;
}

/** A client for one API key. */
export class Framewright {
  readonly videos: Videos;
  readonly uploads: Uploads;
  readonly credits: { get(options?: CallOptions): Promise<WithRequestId<CreditBalance>> };
  readonly models: { list(options?: CallOptions): Promise<WithRequestId<ModelCatalog>> };
  readonly webhooks: { verify: typeof verify; sign: typeof sign } = { verify, sign };
  readonly #settings: Settings;

  constructor(options: FramewrightOptions = {}) {
    const settings = settingsOf(options);
    this.#settings = settings;
    this.uploads = new Uploads(settings);
    this.videos = new Videos(settings, this.uploads);
    this.credits = { get: (options) => this.request('GET', '/credits', options) };
    this.models = { list: (options) => this.request('GET', '/models', options) };
  }

  /**
   * Creates a video and waits until it is completed. All tries use one Idempotency-Key.
   * `totalTimeoutMs` limits the whole call; downloading the video gets what is left.
   * @throws TaskFailedError, ApiError, ConnectionError, WaitTimeoutError, AbortError
   */
  async generate(request: GenerateRequest, options: WaitOptions = {}): Promise<Video> {
    const { onProgress, ...rest } = withDeadline(options);
    const own = { ...rest, idempotencyKey: options.idempotencyKey ?? newKey() };
    const task = await this.videos.create(request, own);
    return this.videos.wait(task, { ...own, onProgress });
  }

  /**
   * Calls any other API operation, such as `request('GET', '/webhooks')`. A POST without an
   * `idempotencyKey` is retried only if it certainly did nothing.
   */
  request<T extends object>(
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<WithRequestId<T>> {
    const repeats = method !== 'POST' || options.idempotencyKey !== undefined;
    return sendJson(this.#settings, { ...options, method, path, repeats });
  }
}

/** @throws SettingsError */
function settingsOf(options: FramewrightOptions): Settings {
  const apiKey = options.apiKey ?? variable('FRAMEWRIGHT_API_KEY');
  if (!apiKey) throw new SettingsError('no API key: pass apiKey, or set FRAMEWRIGHT_API_KEY');
  if (!/^[!-~]+$/.test(apiKey)) throw new SettingsError('the API key has a space or a line break');
  const given = options.baseUrl ?? variable('FRAMEWRIGHT_BASE_URL');
  if (!given) throw new SettingsError('no base URL: pass baseUrl, or set FRAMEWRIGHT_BASE_URL');
  const baseUrl = given.replace(/\/+$/, '');
  if (!/^https?:\/\/.*\/api\/v1$/.test(baseUrl) || !URL.canParse(baseUrl)) {
    const usual = 'https://video.example.com/api/v1';
    throw new SettingsError(`the base URL must be an address such as ${usual}, not ${given}`);
  }
  return {
    apiKey,
    baseUrl,
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    maxRetries: options.maxRetries ?? 5,
    timeoutMs: options.timeoutMs ?? 60_000,
    log: (line) => options.logger?.debug(line),
    sentKeys: new Set(),
  };
}

/** An environment variable; some runtimes have none. */
function variable(name: string): string | undefined {
  const { process }: { process?: { env?: Record<string, string | undefined> } } = globalThis;
  return process?.env?.[name];
}
