import type { Upload } from '../../tasks/uploads/uploads.ts';

/** An upload as the pages show it. */
export interface UploadView {
  /** For the media fields of a generation on the website. */
  url: string;
  id: string;
  kind: 'image' | 'video';
  media_type: string;
  size_bytes: number;
  width: number;
  height: number;
  /** Of a video; `reference_video_durations` takes it rounded. */
  duration_seconds: number | null;
  expires_at: string;
}

export function uploadView({
  now_seconds: _now,
  expires_at: expires,
  ...facts
}: Upload): UploadView {
  return { url: `upload:${facts.id}`, ...facts, expires_at: expires.toISOString() };
}
