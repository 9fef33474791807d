import { DownloadError, TaskFailedError } from './errors.ts';
import type { VideoTask } from './openapi.ts';
import {
  backoffMs,
  type Call,
  type CallOptions,
  isOver,
  lostResponse,
  pause,
  type Settings,
  send,
  sendJson,
  type Timed,
} from './request.ts';

/** A local file path, or a stream. */
export type Target = string | WritableStream<Uint8Array>;

export interface DownloadOptions extends CallOptions {
  /** How many bytes the target already has; files always start from 0. */
  from?: number | undefined;
  /** The create's Idempotency-Key, which errors then have. */
  idempotencyKey?: string | undefined;
}

type Write = (bytes: Uint8Array) => Promise<unknown>;

interface Source {
  settings: Settings;
  taskId: string;
  options: Timed & { idempotencyKey?: string | undefined };
}

/** Writes a video. A file appears only once it is complete. */
export async function download(source: Source, target: Target, from = 0): Promise<void> {
  if (typeof target === 'string') return downloadFile(source, target);
  const writer = target.getWriter();
  try {
    await copy(source, from, (bytes) => writer.write(bytes));
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => {});
    throw error;
  }
}

async function downloadFile(source: Source, path: string): Promise<void> {
  const { open, rename, rm } = await import('node:fs/promises');
  const part = `${path}.${crypto.randomUUID()}.part`;
  const file = await open(part, 'wx');
  try {
    await copy(source, 0, (bytes) => file.appendFile(bytes));
    await file.close();
    await rename(part, path);
  } catch (error) {
    await file.close();
    await rm(part, { force: true });
    throw error;
  }
}

/** Reads a video from byte `from`, resuming after lost connections. */
async function copy(source: Source, from: number, write: Write): Promise<void> {
  const { settings, options } = source;
  const { timeoutMs = settings.timeoutMs, maxRetries = settings.maxRetries } = options;
  let at = from;
  let size: number | undefined;
  for (let failures = 0; ; failures++) {
    const start = at;
    const { call, response, first, bytes } = await openVideo(source, at);
    size ??= bytes;
    let toSkip = at - first;
    // NaN: a 206 without a usable Content-Range.
    if ((bytes ?? size) !== size || toSkip < 0 || Number.isNaN(toSkip)) {
      await response.body?.cancel();
      throw downloadError(source, 'has changed: download it from its beginning');
    }
    let isWriting = false; // the target's own errors are not retried
    try {
      for await (const part of partsOf(response, timeoutMs)) {
        const rest = part.subarray(toSkip);
        toSkip -= part.length - rest.length;
        isWriting = true;
        await write(rest);
        isWriting = false;
        at += rest.length;
      }
      if (at > 0) size ??= await lengthOf(source, at);
      if (at > 0 && at >= (size ?? at)) return;
    } catch (error) {
      if (isWriting) throw error;
    }
    if (at > start) failures = 0;
    if (failures >= maxRetries && !isOver(call)) throw lostResponse(call);
    await pause(backoffMs(failures), call);
  }
}

const downloadError = ({ taskId, options }: Source, text: string) =>
  new DownloadError(`the video of ${taskId} ${text}`, taskId, options.idempotencyKey);

/** The length, if a response had none: without it, a lost connection can look like the end. */
async function lengthOf(source: Source, at: number): Promise<number | undefined> {
  const { response, bytes } = await openVideo(source, at);
  await response.body?.cancel();
  return bytes;
}

/** Opens a video by a fresh link, one byte before `at`: an empty range would be an error. */
async function openVideo(source: Source, at: number) {
  const { settings, taskId, options } = source;
  const own = { ...options, method: 'GET', taskId };
  const path = `/tasks/${encodeURIComponent(taskId)}`;
  const task = await sendJson<VideoTask>(settings, { ...own, path });
  if (task.status === 'failed') throw new TaskFailedError(task, options.idempotencyKey);
  if (!task.output) throw downloadError(source, `is not there yet: it is ${task.status}`);
  if (!/^https?:/.test(task.output.video_url)) throw downloadError(source, 'has a wrong link');
  const headers = { 'accept-encoding': 'identity', ...(at > 1 && { range: `bytes=${at - 1}-` }) };
  const call: Call = { ...own, path: task.output.video_url, headers };
  const response = await send(settings, call, async (opened) => opened);
  return { call, response, ...placeOf(response) };
}

/** Where the bytes start in the video, and the video's length if known. */
function placeOf({ status, headers }: Response): { first: number; bytes: number | undefined } {
  const [, first, bytes] =
    /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get('content-range') ?? '') ?? [];
  if (status === 206) return { first: Number(first ?? Number.NaN), bytes: Number(bytes) };
  const length = headers.has('content-encoding') ? null : headers.get('content-length');
  return { first: 0, bytes: length === null ? undefined : Number(length) };
}

/** Reads a response until it ends or is silent for `timeoutMs`. @throws if the connection breaks */
async function* partsOf({ body }: Response, timeoutMs: number): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  if (!reader) return;
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    for (;;) {
      timer = setTimeout(() => void reader.cancel(), timeoutMs);
      const { value, done } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => {});
  }
}
