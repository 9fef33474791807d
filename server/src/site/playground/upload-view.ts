import type { Upload } from '../../tasks/uploads/uploads.ts';

/** An upload as the pages show it. */
export interface UploadView extends Omit<Upload, 'expires_at' | 'now_seconds'> {
  /** For the media fields of a generation on the website. */
  url: string;
  expires_at: string;
}

export function uploadView({
  now_seconds: _now,
  expires_at: expires,
  ...facts
}: Upload): UploadView {
  return { url: `upload:${facts.id}`, ...facts, expires_at: expires.toISOString() };
}
