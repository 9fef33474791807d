import { APICallError } from '@ai-sdk/provider';
import { AbortError, ApiError, ConnectionError, FramewrightError } from '@framewright/client';

/** An error's message and data. A read's error has no Idempotency-Key, so it gets the call's. */
export function factsOf(error: FramewrightError, key: string | undefined) {
  const { code, charged, retry, taskId = null, requestId = null } = error;
  const idempotencyKey = error.idempotencyKey ?? key ?? null;
  const isRefunded = error.name === 'TaskFailedError';
  const message = isRefunded
    ? `${code}: ${error.message} The credits were refunded.`
    : error.message;
  return { message, data: { code, charged, retry, requestId, idempotencyKey, taskId } };
}

/**
 * Rethrows a client's error as an APICallError with its facts as `data`; an AbortError keeps its
 * class. Creates are not retryable: the client has already retried them, and the AI SDK would use
 * a new Idempotency-Key, and so pay again.
 */
export function rethrow(idempotencyKey: string | undefined, { isRead = false } = {}) {
  return (error: unknown): never => {
    if (!(error instanceof FramewrightError)) throw error;
    const { message, data } = factsOf(error, idempotencyKey);
    if (error instanceof AbortError) throw Object.assign(error, { data });
    const statusCode = error instanceof ApiError ? error.status : undefined;
    throw new APICallError({
      message,
      url: data.taskId === null ? '/video/generations' : `/tasks/${data.taskId}`,
      requestBodyValues: {},
      isRetryable: isRead && isTransient(error),
      data,
      cause: error,
      responseHeaders: headersOf(error),
      ...(statusCode !== undefined && { statusCode }),
    });
  };
}

function isTransient(error: FramewrightError): boolean {
  if (error instanceof ApiError) return error.status === 429 || error.status >= 500;
  return error instanceof ConnectionError;
}

function headersOf(error: FramewrightError): Record<string, string> {
  const seconds = error instanceof ApiError ? error.retryAfterSeconds : undefined;
  return {
    ...(error.requestId !== undefined && { 'x-request-id': error.requestId }),
    ...(seconds !== undefined && { 'retry-after': String(seconds) }),
  };
}
