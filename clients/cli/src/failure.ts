import type { FramewrightError } from '@framewright/client';
import { jsonText, printable } from './terminal/screen.ts';

/** The exit codes of `fw`, by kind of failure; the README has the same table. */
export const EXITS = {
  other: [1, 'you did not agree to the price, or a fault of fw'],
  usage: [2, 'the command line or the base URL is wrong; nothing was sent'],
  key: [3, 'no API key, or it is not valid'],
  refused: [4, 'the service refuses the request as it is'],
  credits: [5, 'too few credits; nothing was charged'],
  failed: [6, 'the task failed; its credits were refunded'],
  unavailable: [7, 'no response, or the service is busy'],
  unfinished: [8, 'another fw is making this video, or an unfinished one must be resumed first'],
  not_found: [9, 'there is no such task'],
  file: [10, 'a file can not be read or written'],
} as const;

type Kind = keyof typeof EXITS;

type Advice = Partial<Omit<FramewrightError, keyof Error>> & { next?: string };

export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: Kind;
  readonly advice: Advice;
  constructor(kind: Kind, message: string, advice: Advice = {}, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
    this.advice = advice;
  }

  get exitCode(): number {
    return EXITS[this.kind][0];
  }
}

type CallError = FramewrightError & { status?: number };

/** The SDK's classes are not imported, so that `fw --help` is fast. */
const isCallError = (error: unknown): error is CallError =>
  error instanceof Error && 'charged' in error && 'retry' in error;

const KINDS: Record<string, Kind> = {
  unauthorized: 'key',
  invalid_request: 'refused',
  payload_too_large: 'refused',
  insufficient_credits: 'credits',
  not_found: 'not_found',
  method_not_allowed: 'refused',
  idempotency_conflict: 'refused',
  not_cancellable: 'refused',
  no_output: 'refused',
  upload_in_use: 'refused',
  rate_limited: 'unavailable',
  internal_error: 'unavailable',
  service_busy: 'unavailable',
  no_response: 'unavailable',
  redirected: 'usage',
  invalid_settings: 'usage',
  download_failed: 'unfinished',
};

const NEXT: Partial<Record<Kind, string>> = {
  usage: 'fw login --base-url, or FRAMEWRIGHT_BASE_URL, names the service.',
  key: 'fw login stores another API key.',
  refused: 'Correct the request, then run the command again.',
  credits: 'Buy credits on the website, or ask for a shorter or smaller video.',
  failed: 'To try again, run the command again: it is a new request with its own charge.',
  unavailable: 'Run the command again in a minute.',
};

/** The refusal of a video that `fw` sent as an image, because its URL does not look like one. */
const VIDEO_SENT_AS_IMAGE = /^reference_image_urls\b.*not a still/;
const ADD_SECONDS =
  'If it is a video, add its length in seconds to its address, such as https://example.com/clip#5.';

/** Turns any error into a failure. Bugs of `fw` itself keep their message. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isCallError(error)) return failureOfCall(error);
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/^E[A-Z]+$/.test(code)) {
    const next = 'Correct the file or folder that the message names, then run the command again.';
    return new Failure('file', message, { code, next }, error);
  }
  return new Failure('other', message, {}, error);
}

function failureOfCall(error: CallError): Failure {
  const { code = 'unknown', charged, retry, requestId, taskId, idempotencyKey } = error;
  // A refused create may have made a task, which failed and was refunded.
  const isRefunded = code === 'invalid_request' && charged === 'refunded';
  const hasFailed = error.name === 'TaskFailedError' || isRefunded;
  const kind = hasFailed ? 'failed' : (KINDS[code] ?? (error.status ? 'unavailable' : 'other'));
  const next = VIDEO_SENT_AS_IMAGE.test(error.message) ? ADD_SECONDS : NEXT[kind];
  const advice = { code, charged, retry, requestId, taskId, idempotencyKey };
  return new Failure(kind, error.message, { ...advice, ...(next && { next }) }, error);
}

function withoutKeys(text: string): string {
  return text.replace(/fw_(live|test)_\w+/g, 'fw_$1_...');
}

const CHARGED: Record<string, string> = {
  no: 'Nothing was charged.',
  refunded: 'The credits were refunded.',
  reserved: 'The credits may be reserved.',
};

export function failureLines({ message, advice }: Failure): string[] {
  const { charged, next, requestId, taskId } = advice;
  const ids = [taskId && `task ${taskId}`, requestId && `request ${requestId}`].filter(Boolean);
  const facts = [charged && CHARGED[charged], next].filter(Boolean).join(' ');
  const lines = [message, facts, ids.join(', ')].map(printable);
  return lines.filter((line) => line !== '').map(withoutKeys);
}

export function failureJson({ kind, exitCode, message, advice }: Failure): string {
  const error = {
    kind,
    exit_code: exitCode,
    message,
    code: advice.code,
    charged: advice.charged,
    retry: advice.retry,
    next: advice.next,
    task_id: advice.taskId,
    request_id: advice.requestId,
    idempotency_key: advice.idempotencyKey,
  };
  return withoutKeys(jsonText({ error }));
}
