import {
  APICallError,
  type Experimental_VideoModelV4CallOptions as CallOptions,
  type JSONValue,
  type SharedV4Warning,
  type Experimental_VideoModelV4OperationStatusResult as StatusResult,
  type Experimental_VideoModelV4 as VideoModel,
} from '@ai-sdk/provider';
import {
  ApiError,
  ConnectionError,
  type Framewright,
  type FramewrightError,
  type GenerateRequest,
  TaskFailedError,
} from '@framewright/client';
import { requestOf } from './request.ts';

export type ModelId = NonNullable<GenerateRequest['model']>;

interface Clients {
  /** Sends each request once: the AI SDK sends a start again. */
  once: Framewright;
  /** Sends reads again, which cost nothing. */
  patient: Framewright;
}

/** A model of Framewright for `experimental_generateVideo`. */
export function videoModel(modelId: ModelId, clients: Clients): VideoModel {
  const prepared = new Map<string, Promise<Prepared>>();
  return {
    specificationVersion: 'v4',
    provider: 'framewright.video',
    modelId,
    maxVideosPerCall: 1,
    async doStart(options) {
      const idempotencyKey = keyOf(options);
      // Another request with the same key is prepared anew, and the service refuses it.
      const name = idempotencyKey + JSON.stringify(requestOf(modelId, options).request);
      const { request, warnings } = await once(prepared, name, () =>
        prepare(clients.patient, modelId, options),
      );
      const { abortSignal: signal } = options;
      const task = await clients.once.videos
        .create(request, { idempotencyKey, signal })
        .catch(rethrow);
      prepared.delete(name);
      const operation = { taskId: task.id, idempotencyKey };
      return { operation, warnings, response: responseOf(modelId) };
    },
    async doStatus({ operation, abortSignal: signal }) {
      return statusOf(clients.patient, { modelId, operation: operationOf(operation), signal });
    },
  };
}

interface Prepared {
  request: GenerateRequest;
  warnings: SharedV4Warning[];
}

/** Uploads the files of a call. All tries send the same request, or the key would not fit. */
async function prepare(client: Framewright, modelId: ModelId, options: CallOptions) {
  const { request, warnings } = requestOf(modelId, options);
  const { abortSignal: signal } = options;
  return { request: await client.videos.prepare(request, { signal }), warnings };
}

const MOST_PREPARED = 100;

/** Does a work once for a key, unless it fails. Forgets the oldest key of too many. */
function once<T>(made: Map<string, Promise<T>>, key: string, work: () => Promise<T>): Promise<T> {
  const earlier = made.get(key);
  if (earlier !== undefined) return earlier;
  const [oldest] = made.keys();
  if (oldest !== undefined && made.size >= MOST_PREPARED) made.delete(oldest);
  const result = work();
  made.set(key, result);
  result.catch(() => made.delete(key));
  return result;
}

/** The AI SDK makes one key for all tries of a start, or takes the caller's. */
function keyOf({ headers = {} }: CallOptions): string {
  const given = Object.entries(headers).find(([name]) => name.toLowerCase() === 'idempotency-key');
  return given?.[1] ?? `fw-${crypto.randomUUID()}`;
}

interface Operation {
  taskId: string;
  idempotencyKey: string | undefined;
}

function operationOf(value: JSONValue): Operation {
  const { taskId, idempotencyKey } = Object(value);
  if (typeof taskId !== 'string') throw new TypeError('not an operation of this provider');
  return { taskId, idempotencyKey };
}

const responseOf = (modelId: string) => ({ timestamp: new Date(), modelId, headers: undefined });

async function statusOf(
  client: Framewright,
  {
    modelId,
    operation,
    signal,
  }: { modelId: string; operation: Operation; signal: AbortSignal | undefined },
): Promise<StatusResult> {
  const { taskId, idempotencyKey } = operation;
  const task = await client.videos.get(taskId, { signal });
  const response = responseOf(modelId);
  const { credits_used: credits } = task;
  if (task.status === 'processing') return { status: 'pending', response };
  if (task.status === 'failed') {
    const failed = new TaskFailedError(task, idempotencyKey);
    const error = `${failed.code}: ${failed.message} The credits were refunded.`;
    return { status: 'error', error, providerMetadata: { framewright: factsOf(failed) }, response };
  }
  // The AI SDK itself reads no video from a private address, where a service of one's own may be.
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const target = new WritableStream<Uint8Array>({
    write: (part) => void parts.push(Uint8Array.from(part)),
  });
  await client.videos.download(taskId, target, { signal });
  const data = new Uint8Array(await new Blob(parts).arrayBuffer());
  return {
    status: 'completed',
    videos: [{ type: 'binary', data, mediaType: 'video/mp4' }],
    warnings: [],
    providerMetadata: { framewright: { videos: [{ taskId, credits }] } },
    response,
  };
}

/** What an error says about the request and its credits. */
function factsOf({ code, charged, retry, ...ids }: FramewrightError) {
  const { requestId = null, idempotencyKey = null, taskId = null } = ids;
  return { code, charged, retry, requestId, idempotencyKey, taskId };
}

/** An error as the AI SDK knows it: it sends a start again if that is safe. */
function rethrow(error: unknown): never {
  const isApiError = error instanceof ApiError;
  if (!isApiError && !(error instanceof ConnectionError)) throw error;
  const [statusCode, seconds] = isApiError ? [error.status, error.retryAfterSeconds] : [];
  const isRetryable = statusCode === undefined || statusCode === 429 || statusCode >= 500;
  throw new APICallError({
    message: error.message,
    url: '/video/generations',
    requestBodyValues: {},
    isRetryable,
    data: factsOf(error),
    cause: error,
    ...(statusCode !== undefined && { statusCode }),
    ...(seconds !== undefined && { responseHeaders: { 'retry-after': String(seconds) } }),
  });
}
