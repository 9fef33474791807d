import type { GenerateRequest } from './media.ts';
import type { CreditBalance, ModelCatalog } from './openapi.ts';
import { type Call, type CallOptions, newKey, type Settings, sendJson } from './request.ts';
import { Uploads } from './uploads.ts';
import { type Video, Videos, type WaitOptions } from './videos.ts';
import { verify } from './webhooks.ts';

export interface FramewrightOptions {
  /** `fw_live_...` or `fw_test_...`. The default is FRAMEWRIGHT_API_KEY of the environment. */
  apiKey?: string | undefined;
  /** Of the service, with `/api/v1`. The default is FRAMEWRIGHT_BASE_URL, or a local service. */
  baseUrl?: string | undefined;
  fetch?: typeof fetch | undefined;
  /** How often a request is sent again. The default is 5. */
  maxRetries?: number | undefined;
  /** How long one try may take. The default is 60,000. */
  timeoutMs?: number | undefined;
}

const LOCAL_SERVICE = 'http://127.0.0.1:8080/api/v1';

/** The client of one API key. */
export class Framewright {
  readonly videos: Videos;
  readonly uploads: Uploads;
  readonly credits: { get(options?: CallOptions): Promise<CreditBalance> };
  readonly models: { list(options?: CallOptions): Promise<ModelCatalog> };
  readonly webhooks = { verify };
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
   * Makes a video, and waits until it is there. All tries have one Idempotency-Key.
   * @throws TaskFailedError, ApiError, ConnectionError, AbortError
   */
  async generate(request: GenerateRequest, options: WaitOptions = {}): Promise<Video> {
    const { idempotencyKey = newKey(), signal, onProgress } = options;
    const task = await this.videos.create(request, { idempotencyKey, signal });
    return this.videos.wait(task, { idempotencyKey, signal, onProgress });
  }

  /** Any other operation of the API, such as `request('GET', '/webhooks')`. */
  request<T>(
    method: string,
    path: string,
    { body, headers, idempotencyKey, signal }: Omit<Call, 'method' | 'path'> = {},
  ): Promise<T> {
    const call: Call = { method, path, body, headers, idempotencyKey, signal };
    return sendJson(this.#settings, call);
  }
}

function settingsOf(options: FramewrightOptions): Settings {
  const apiKey = options.apiKey ?? variable('FRAMEWRIGHT_API_KEY');
  if (!apiKey) throw new TypeError('no API key: pass apiKey, or set FRAMEWRIGHT_API_KEY');
  const given = options.baseUrl ?? variable('FRAMEWRIGHT_BASE_URL') ?? LOCAL_SERVICE;
  const baseUrl = given.replace(/\/+$/, '');
  if (!/^https?:\/\/.*\/api\/v1$/.test(baseUrl)) {
    throw new TypeError(`baseUrl must end with /api/v1, such as ${LOCAL_SERVICE}: ${given}`);
  }
  return {
    apiKey,
    baseUrl,
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    maxRetries: options.maxRetries ?? 5,
    timeoutMs: options.timeoutMs ?? 60_000,
  };
}

/** A variable of the environment, where there is one. */
function variable(name: string): string | undefined {
  const { process }: { process?: { env?: Record<string, string | undefined> } } = globalThis;
  return process?.env?.[name];
}
