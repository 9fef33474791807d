import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { JsonResponse } from '../kit/json-call.ts';
import type { JobStatus } from '../provider.ts';
import { errorWords, falCause, falErrorIn, falJobFailure } from './errors.ts';
import { type FalSettings, getFromFal } from './settings.ts';

const StatusSchema = Type.Object({
  status: Type.String(),
  error: Type.Optional(Type.Unknown()),
  error_type: Type.Optional(Type.Unknown()),
});
const ResultSchema = Type.Object({ video: Type.Object({ url: Type.String() }) });

/**
 * What fal answers for a result whose model refused its input. A 5xx may be one server's bad
 * moment: it is a failure only where the status named one.
 */
const RESULT_FAILURES = new Set([400, 413, 422, 499]);

/**
 * Reads a request. fal has three status words, and a failed or cancelled request reads COMPLETED
 * like any other: its result says how it ended.
 * Source: fal docs, queue status and result.
 */
export async function readRequest(settings: FalSettings, jobId: string): Promise<JobStatus> {
  const url = `${settings.queueUrl}/${settings.app}/requests/${encodeURIComponent(jobId)}`;
  const response = await getFromFal(settings, `${url}/status`);
  if (isNotFound(response)) return { kind: 'missing' };
  if (!isSuccess(response) || !Value.Check(StatusSchema, response.body))
    throw unclear('status', response);
  const { status, error, error_type: word } = response.body;
  if (status !== 'COMPLETED') return { kind: 'working' };
  const failed = typeof error === 'string' || typeof word === 'string';
  const words = typeof word === 'string' ? [word] : [];
  return resultOf(await getFromFal(settings, url), failed ? { words, error } : undefined);
}

interface SaidFailure {
  words: string[];
  error: unknown;
}

function resultOf(response: JsonResponse, said: SaidFailure | undefined): JobStatus {
  if (isSuccess(response) && Value.Check(ResultSchema, response.body)) {
    return { kind: 'succeeded', output: { url: response.body.video.url } };
  }
  const error = falErrorIn(response.body);
  const header = response.headers['x-fal-error-type'];
  const words = [...errorWords(error), ...(said?.words ?? []), ...(header ? [header] : [])];
  const isFailure = error && RESULT_FAILURES.has(response.status) && isOwnError(response, words);
  if (said || isFailure) return falJobFailure(response.status, words, failureCause(response, said));
  if (isNotFound(response)) return { kind: 'missing' };
  throw unclear('result', response);
}

/** A 422 is a model's. Others without a word of fal's may be a proxy's or "still in progress". */
function isOwnError(response: JsonResponse, words: string[]): boolean {
  return response.status === 422 || words.length > 0;
}

function failureCause(response: JsonResponse, said: SaidFailure | undefined): string {
  const status = said ? `${String(said.error ?? '')} ${said.words.join(' ')}; ` : '';
  return `${status}${falCause(response.status, falErrorIn(response.body))}`;
}

function isSuccess({ status }: JsonResponse): boolean {
  return status >= 200 && status < 300;
}

function isNotFound(response: JsonResponse): boolean {
  return response.status === 404 && falErrorIn(response.body) !== undefined;
}

function unclear(what: string, response: JsonResponse): Error {
  return new Error(
    `fal's ${what} can not be read: ${falCause(response.status, falErrorIn(response.body))}`,
  );
}
