import { ApiError } from '../../kernel/errors.ts';
import type { ReceiveDeps } from '../../uploads/receive.ts';
import { readUpload, type Upload } from '../../uploads/uploads.ts';

/** An upload as responses show it. */
export interface UploadView extends Omit<Upload, 'expires_at' | 'now_seconds'> {
  /** For the media fields of a create of its account. */
  url: string;
  expires_at: string;
}

/** @throws ApiError `not_found` unless the account has this upload, and it can be used */
export async function shownUpload(
  db: ReceiveDeps['db'],
  named: { accountId: string; id: string },
  urlOf: (id: string) => string,
): Promise<UploadView> {
  const upload = await readUpload(db, named);
  if (!upload) throw noUpload();
  const { now_seconds: _now, expires_at: expires, ...facts } = upload;
  return { url: urlOf(facts.id), ...facts, expires_at: expires.toISOString() };
}

export function noUpload(): ApiError {
  return new ApiError('not_found', 'This upload has expired or does not exist.');
}
