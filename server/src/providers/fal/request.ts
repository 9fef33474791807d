import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { isSuccess, type JsonResponse } from '../kit/remote.ts';
import type { CancelOutcome, JobStatus } from '../provider.ts';
import { errorTypes, falCause, falErrorIn, falJobFailure } from './errors.ts';
import type { Fal } from './settings.ts';

const StatusSchema = Type.Object({
  status: Type.String(),
  error: Type.Optional(Type.Unknown()),
  error_type: Type.Optional(Type.Unknown()),
});
const CancelRefusalSchema = Type.Object({ status: Type.Enum(['ALREADY_COMPLETED', 'NOT_FOUND']) });
const ResultSchema = Type.Object({ video: Type.Object({ url: Type.String() }) });

/**
 * A result call with one of these shows a failed request: the model refused the input, or someone
 * cancelled (499). A 5xx may be temporary: it counts only if the status call named an error.
 */
const RESULT_FAILURES = new Set([400, 413, 422, 499]);

/**
 * A failed or cancelled request has the status COMPLETED too: its result shows how it ended.
 * Source: fal docs, queue status and result.
 */
export async function readRequest(account: Fal, jobId: string): Promise<JobStatus> {
  const url = urlOf(account, jobId);
  const response = await account.api.get(`${url}/status`);
  if (isNotFound(response)) return { kind: 'missing' };
  if (!isSuccess(response) || !Value.Check(StatusSchema, response.body))
    throw unclear('status', response);
  const { status, error, error_type: type } = response.body;
  if (status !== 'COMPLETED') return { kind: 'working' };
  const failed = typeof error === 'string' || typeof type === 'string';
  const types = typeof type === 'string' ? [type] : [];
  return resultOf(await account.api.get(url), failed ? { types, error } : undefined);
}

/**
 * Asks fal to cancel a request. A waiting one never starts; the runner of a running one gets a
 * signal, which it may ignore.
 * Source: fal docs, queue cancel.
 */
export async function cancelRequest(account: Fal, jobId: string): Promise<CancelOutcome> {
  const response = await account.api.request('PUT', `${urlOf(account, jobId)}/cancel`);
  if (isSuccess(response)) return { kind: 'accepted' };
  if (Value.Check(CancelRefusalSchema, response.body)) {
    return { kind: 'refused', cause: `fal says ${response.body.status}` };
  }
  throw unclear('response to a cancel', response);
}

function urlOf({ queueUrl, app }: Fal, jobId: string): string {
  return `${queueUrl}/${app}/requests/${encodeURIComponent(jobId)}`;
}

/** The failure that the status call named. */
interface StatedFailure {
  types: string[];
  error: unknown;
}

function resultOf(response: JsonResponse, stated: StatedFailure | undefined): JobStatus {
  if (isSuccess(response) && Value.Check(ResultSchema, response.body)) {
    return { kind: 'succeeded', output: { url: response.body.video.url } };
  }
  const error = falErrorIn(response.body);
  const header = response.headers['x-fal-error-type'];
  const types = [...(stated?.types ?? []), ...(header ? [header] : [])];
  if (error) types.unshift(...errorTypes(error));
  // A 422 comes from a model. Any other refusal without an error type may come from a proxy or mean
  // that the request is still in progress.
  const isFromFal = response.status === 422 || types.length > 0;
  const isFailure = error && RESULT_FAILURES.has(response.status) && isFromFal;
  if (stated || isFailure)
    return falJobFailure(response.status, types, failureCause(response, stated));
  if (isNotFound(response)) return { kind: 'missing' };
  throw unclear('result', response);
}

function failureCause(response: JsonResponse, stated: StatedFailure | undefined): string {
  const status = stated ? `${String(stated.error ?? '')} ${stated.types.join(' ')}; ` : '';
  return `${status}${falCause(response)}`;
}

function isNotFound(response: JsonResponse): boolean {
  return response.status === 404 && falErrorIn(response.body) !== undefined;
}

function unclear(what: string, response: JsonResponse): Error {
  return new Error(`fal's ${what} can't be read: ${falCause(response)}`);
}
