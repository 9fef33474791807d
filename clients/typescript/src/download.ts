import type { VideoTask } from './openapi.ts';
import {
  backoffMs,
  type Call,
  type CallOptions,
  lostResponse,
  pause,
  type Settings,
  send,
  sendJson,
} from './request.ts';

/** A file on this machine, or where to write the bytes. */
export type Target = string | WritableStream<Uint8Array>;

export interface DownloadOptions extends CallOptions {
  /** How many bytes the target has already; a file is always written from its beginning. */
  from?: number | undefined;
}

type Write = (bytes: Uint8Array) => Promise<unknown>;

interface Source {
  settings: Settings;
  taskId: string;
  signal: AbortSignal | undefined;
}

/** Writes all of a video. A file appears only when it is whole. */
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

/** Reads a video from a byte on. After a lost connection it goes on where it was. */
async function copy(source: Source, from: number, write: Write): Promise<void> {
  const { timeoutMs, maxRetries } = source.settings;
  let at = from;
  let size: number | undefined;
  for (let failures = 0; ; failures++) {
    const start = at;
    const { call, response, first, bytes } = await openVideo(source, at);
    size ??= bytes;
    let skipped = at - first;
    if (bytes !== size || !(skipped >= 0)) {
      await response.body?.cancel();
      throw new Error(`the video of ${source.taskId} has changed: download it from its beginning`);
    }
    let isWriting = false;
    try {
      for await (const part of partsOf(response, timeoutMs)) {
        const rest = part.subarray(skipped);
        skipped -= part.length - rest.length;
        isWriting = true;
        await write(rest);
        isWriting = false;
        at += rest.length;
      }
      if (at >= bytes) return;
    } catch (error) {
      if (isWriting) throw error;
    }
    if (at > start) failures = 0;
    if (failures >= maxRetries) throw lostResponse(call);
    await pause(backoffMs(failures), call);
  }
}

/** Begins to read a video by a fresh link. */
async function openVideo({ settings, taskId, signal }: Source, from: number) {
  const path = `/tasks/${encodeURIComponent(taskId)}`;
  const task = await sendJson<VideoTask>(settings, { method: 'GET', path, taskId, signal });
  if (!task.output) throw new Error(`${taskId} has no video: it is ${task.status}`);
  if (!/^https?:/.test(task.output.video_url)) throw new Error(`${taskId} has a wrong link`);
  const headers = from > 0 ? { range: `bytes=${from}-` } : undefined;
  const call: Call = { method: 'GET', path: task.output.video_url, headers, taskId, signal };
  const response = await send(settings, call, async (opened) => opened);
  const range = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get('content-range') ?? '');
  const whole = response.status === 206 ? Number.NaN : 0;
  const [, first = whole, bytes = response.headers.get('content-length')] = range ?? [];
  return { call, response, first: Number(first), bytes: Number(bytes) };
}

/** @throws when the connection breaks, or is silent for too long */
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
