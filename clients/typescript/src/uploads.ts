import type { Upload } from './openapi.ts';
import { type CallOptions, type Settings, sendJson, type WithRequestId } from './request.ts';

/** A file: a path on this machine, or its bytes. */
export type FileSource = string | Blob;

/** Files for the media fields of a request. */
export class Uploads {
  readonly #settings: Settings;
  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Uploads an image or a video. It costs nothing; name its `url` in a media field. */
  async create(file: FileSource, options: CallOptions = {}): Promise<WithRequestId<Upload>> {
    const body = typeof file === 'string' ? await readBlob(file) : file;
    const headers = { 'content-type': await mediaTypeOf(body) };
    return sendJson(this.#settings, {
      ...options,
      method: 'POST',
      path: '/uploads',
      body,
      headers,
    });
  }

  /** Deletes a file. @throws 409 `upload_in_use` while a task has not copied it yet */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    const path = `/uploads/${encodeURIComponent(id)}`;
    await sendJson(this.#settings, { ...options, method: 'DELETE', path });
  }
}

async function readBlob(path: string): Promise<Blob> {
  const { openAsBlob } = await import('node:fs');
  return openAsBlob(path);
}

/** The service reads the bytes itself, and wants to know only whether they are a video. */
async function mediaTypeOf(file: Blob): Promise<string> {
  if (/^(image|video)\//.test(file.type)) return file.type;
  const start = await file.slice(0, 8).text();
  return start.endsWith('ftyp') || start.startsWith('\x1aE') ? 'video/mp4' : 'image/png';
}
