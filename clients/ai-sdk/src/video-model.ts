import type {
  Experimental_VideoModelV4CallOptions as CallOptions,
  JSONValue,
  SharedV4ProviderMetadata,
  SharedV4Warning,
  Experimental_VideoModelV4OperationStatusResult as StatusResult,
  Experimental_VideoModelV4VideoData as VideoData,
  Experimental_VideoModelV4 as VideoModel,
} from '@ai-sdk/provider';
import {
  type Framewright,
  type Model,
  type Target,
  TaskFailedError,
  type VideoTask,
} from '@framewright/client';
import { factsOf, rethrow } from './errors.ts';
import { requestOf } from './request.ts';

/**
 * A Framewright model. `doGenerate` does its own waiting, so that its errors name the task and its
 * Idempotency-Key. `doStart` and `doStatus` serve `startVideo`, `getVideoStatus` and the option
 * `poll`. The client retries; the AI SDK does not, since it can't know what is safe.
 */
export function videoModel(modelId: Model, client: Framewright): VideoModel {
  const runWithKey = createKeyGuard();
  return {
    specificationVersion: 'v4',
    provider: 'framewright.video',
    modelId,
    maxVideosPerCall: 1,
    async doGenerate(options) {
      const { request, totalTimeoutMs, warnings } = requestOf(modelId, options);
      const { abortSignal: signal } = options;
      const idempotencyKey = keyOf(options);
      return runWithKey(idempotencyKey, warnings, async () => {
        const own = { idempotencyKey, signal, totalTimeoutMs };
        const task = await client.generate(request, own).catch(rethrow(idempotencyKey));
        const download = (target: Target) => task.download(target, { signal });
        const video = await videoOf(download).catch(rethrow(idempotencyKey));
        const providerMetadata = metadataOf(task);
        return { videos: [video], warnings, providerMetadata, response: responseOf(modelId) };
      });
    },
    async doStart(options) {
      const { request, warnings } = requestOf(modelId, options);
      const idempotencyKey = keyOf(options);
      return runWithKey(idempotencyKey, warnings, async () => {
        const own = { idempotencyKey, signal: options.abortSignal };
        const task = await client.videos.create(request, own).catch(rethrow(idempotencyKey));
        const operation = { taskId: task.id, idempotencyKey };
        return { operation, warnings, response: responseOf(modelId) };
      });
    },
    async doStatus({ operation, abortSignal: signal }) {
      const { taskId, idempotencyKey } = operationOf(operation);
      return statusOf(client, { modelId, taskId, idempotencyKey, signal }).catch(
        rethrow(idempotencyKey, { isRead: true }),
      );
    },
  };
}

const ONE_VIDEO =
  'Several calls have the same Idempotency-Key: they make one video, which is charged once. ' +
  'For several videos, give each call its own key.';

/** Warns if the Idempotency-Key of a call is already in use: `n: 2` sends the caller's key twice. */
function createKeyGuard() {
  const keys = new Set<string>();
  return async <T>(key: string, warnings: SharedV4Warning[], work: () => Promise<T>) => {
    const isFirst = !keys.has(key);
    if (!isFirst) warnings.push({ type: 'other', message: ONE_VIDEO });
    keys.add(key);
    try {
      return await work();
    } finally {
      if (isFirst) keys.delete(key);
    }
  };
}

/** The caller's key, or a new one: the AI SDK makes one for `doStart`, but none for `doGenerate`. */
function keyOf({ headers = {} }: CallOptions): string {
  const given = Object.entries(headers).find(([name]) => name.toLowerCase() === 'idempotency-key');
  return given?.[1] ?? `fw-${crypto.randomUUID()}`;
}

function operationOf(value: JSONValue): { taskId: string; idempotencyKey: string | undefined } {
  const { taskId, idempotencyKey } = Object(value);
  if (typeof taskId !== 'string') throw new TypeError('not an operation of this provider');
  return { taskId, idempotencyKey };
}

const responseOf = (modelId: string) => ({ timestamp: new Date(), modelId, headers: undefined });

const metadataOf = ({ id, credits_used }: VideoTask): SharedV4ProviderMetadata => ({
  framewright: { videos: [{ taskId: id, credits: credits_used }] },
});

type Asked = ReturnType<typeof operationOf> & { modelId: string; signal: AbortSignal | undefined };

async function statusOf(client: Framewright, asked: Asked): Promise<StatusResult> {
  const { modelId, taskId, idempotencyKey, signal } = asked;
  const task = await client.videos.get(taskId, { signal });
  const response = responseOf(modelId);
  if (task.status === 'processing') return { status: 'pending', response };
  if (task.status === 'failed') {
    const failed = new TaskFailedError(task, idempotencyKey);
    const { message: error, data } = factsOf(failed, idempotencyKey);
    return { status: 'error', error, providerMetadata: { framewright: data }, response };
  }
  const video = await videoOf((target) => client.videos.download(taskId, target, { signal }));
  const providerMetadata = metadataOf(task);
  return { status: 'completed', videos: [video], warnings: [], providerMetadata, response };
}

/** Downloads the video here: the AI SDK refuses private addresses, which self-hosting may use. */
async function videoOf(download: (target: Target) => Promise<void>): Promise<VideoData> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  await download(new WritableStream({ write: (part) => void parts.push(Uint8Array.from(part)) }));
  const data = new Uint8Array(await new Blob(parts).arrayBuffer());
  return { type: 'binary', data, mediaType: 'video/mp4' };
}
