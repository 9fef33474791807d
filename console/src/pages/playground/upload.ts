import type { SiteUpload } from '../../../../server/src/site/playground/uploads.ts';
import { ApiFailure, failureOf } from '../../api.ts';

/** Uses XMLHttpRequest, because `fetch` does not report upload progress. */
export function uploadFile(
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
