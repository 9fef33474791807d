import type { SiteUpload } from '../../../../server/src/site/playground/uploads.ts';
import { ApiFailure, failureOf } from '../../api.ts';
import { asFailure } from '../../load.ts';
import { type Medium, mediumOf, newMedium } from './form-model.ts';

export const MEGABYTE = 2 ** 20;

/** Uploads in progress, by medium key. They continue while the form shows another mode. */
const running = new Map<string, AbortController>();

export function stopUpload(key: string): void {
  running.get(key)?.abort();
}

/** Uploads a file, and reports it as a medium: its progress, then its address or its error. */
export async function addUpload(
  file: File,
  { maxBytes, onChange }: { maxBytes: number; onChange: (medium: Medium) => void },
): Promise<void> {
  const base = newMedium({ name: file.name });
  const stop = new AbortController();
  running.set(base.key, stop);
  const onProgress = (part: number) => onChange({ ...base, progress: { part } });
  onProgress(0);
  try {
    if (file.size > maxBytes) {
      throw new Error(`A file may have at most ${maxBytes / MEGABYTE} MB.`);
    }
    const upload = await uploadFile(file, { signal: stop.signal, onProgress });
    onChange(mediumOf(upload, base));
  } catch (error) {
    if (stop.signal.aborted) return;
    onChange({ ...base, error: `${file.name}: ${asFailure(error).message}` });
  } finally {
    running.delete(base.key);
  }
}

/** Uses XMLHttpRequest, because `fetch` does not report upload progress. */
function uploadFile(
  file: File,
  { signal, onProgress }: { signal: AbortSignal; onProgress: (part: number) => void },
): Promise<SiteUpload> {
  const { promise, resolve, reject } = Promise.withResolvers<SiteUpload>();
  const request = new XMLHttpRequest();
  request.open('POST', '/console/api/uploads');
  request.setRequestHeader('content-type', file.type || 'application/octet-stream');
  request.responseType = 'json';
  request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0);
  request.onload = () => {
    const { status, response } = request;
    if (status === 201) return resolve(response);
    const requestId = request.getResponseHeader('x-request-id') ?? undefined;
    reject(failureOf(status, response, requestId));
  };
  request.onerror = () => {
    const message = 'The upload broke off. Check your connection, then try again.';
    reject(new ApiFailure(message, { status: 0, code: 'offline' }));
  };
  request.onabort = () => reject(signal.reason);
  signal.addEventListener('abort', () => request.abort());
  request.send(file);
  return promise;
}
