import type { Upload, VideoRequest } from './openapi.ts';
import { type CallOptions, type Settings, sendJson, type WithRequestId } from './request.ts';

/** A local path, or the bytes of a file. */
export type FileSource = string | Blob;

export class Uploads {
  readonly #settings: Settings;
  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Uploads an image or video at no cost; use its `url` in a media field. */
  async create(file: FileSource, options: CallOptions = {}): Promise<WithRequestId<Upload>> {
    const body = typeof file === 'string' ? await readBlob(file) : file;
    const headers = { 'content-type': await mediaTypeOf(body) };
    const call = { ...options, method: 'POST', path: '/uploads', body, headers };
    return sendJson(this.#settings, call);
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

/** The service inspects the bytes itself; it only needs to be told whether they are a video. */
async function mediaTypeOf(file: Blob): Promise<string> {
  if (/^(image|video)\//.test(file.type)) return file.type;
  const start = await file.slice(0, 8).text();
  return start.endsWith('ftyp') || start.startsWith('\x1aE') ? 'video/mp4' : 'image/png';
}

/**
 * A URL, or a file to upload first: its bytes, or its path (text without `https://`). Pass
 * untrusted URLs as URL objects, which are never read as paths.
 */
export type Media = FileSource | URL;

export type GenerateRequest = Omit<VideoRequest, keyof MediaFields> & MediaFields;

interface MediaFields {
  /** The first frame. */
  image_url?: Media | undefined;
  /** The last frame. */
  end_image_url?: Media | undefined;
  reference_image_urls?: Media[] | undefined;
  reference_video_urls?: Media[] | undefined;
  /** Whole seconds of each reference video; null or missing for files, which are measured. */
  reference_video_durations?: (number | null)[] | undefined;
}

const isFile = (media: Media): media is FileSource =>
  media instanceof Blob || (typeof media === 'string' && !/^[a-z][a-z\d+.-]+:/i.test(media));

/** Uploads each file once and replaces it with its URL, giving the request that the API takes. */
export async function uploadMedia(
  request: GenerateRequest,
  upload: (file: FileSource) => Promise<Upload>,
): Promise<VideoRequest> {
  const { image_url, end_image_url, reference_image_urls, ...others } = request;
  const { reference_video_urls, reference_video_durations = [], ...rest } = others;
  const seconds = [...reference_video_durations];
  const uploads = new Map<Media, Upload>();
  const addressOf = async (media: Media) => {
    if (!isFile(media)) return String(media);
    const uploaded = uploads.get(media) ?? (await upload(media));
    uploads.set(media, uploaded);
    return uploaded.url;
  };
  const sent: VideoRequest = rest;
  if (image_url) sent.image_url = await addressOf(image_url);
  if (end_image_url) sent.end_image_url = await addressOf(end_image_url);
  const addressesOf = async (list: Media[]) => {
    const addresses = [];
    for (const media of list) addresses.push(await addressOf(media));
    return addresses;
  };
  if (reference_image_urls) sent.reference_image_urls = await addressesOf(reference_image_urls);
  if (reference_video_urls) {
    sent.reference_video_urls = await addressesOf(reference_video_urls);
    for (const [at, media] of reference_video_urls.entries()) {
      const measured = uploads.get(media)?.duration_seconds;
      if (typeof measured === 'number') seconds[at] ??= Math.round(measured);
    }
  }
  // The service refuses a list with gaps.
  if (seconds.length > 0) sent.reference_video_durations = seconds.filter((one) => one !== null);
  return sent;
}
