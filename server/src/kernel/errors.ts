// The room kernel/: what every other room may use, such as errors, ids, the log and batches.

/**
 * Every error code that a client can receive, with its HTTP status; docs/customers/ERRORS.md
 * explains them. The first ten are those of the contract (section "Errors") plus
 * `method_not_allowed`; the next three belong to one operation each, the next five to delivery
 * links, the rest to the website.
 */
export const ERROR_STATUS = {
  unauthorized: 401,
  invalid_request: 400,
  insufficient_credits: 402,
  not_found: 404,
  method_not_allowed: 405,
  idempotency_conflict: 409,
  payload_too_large: 413,
  rate_limited: 429,
  service_busy: 503,
  internal_error: 500,
  not_cancellable: 409,
  no_output: 409,
  upload_in_use: 409,
  link_invalid: 403,
  link_expired: 410,
  output_deleted: 410,
  file_missing: 410,
  range_not_satisfiable: 416,
  cross_site: 403,
  sign_in_failed: 403,
  proof_required: 403,
  account_disabled: 403,
} as const;

type ErrorCode = keyof typeof ERROR_STATUS;

/** The codes that belong to one operation each. */
export const OWN_ERROR_CODES = [
  'not_cancellable',
  'no_output',
  'upload_in_use',
] as const satisfies ErrorCode[];
export type OwnErrorCode = (typeof OWN_ERROR_CODES)[number];

/** The codes that the responses of any operation with this HTTP status can have. */
export function errorCodesOf(status: number): string[] {
  return Object.entries(ERROR_STATUS)
    .filter(([code, known]) => known === status && !OWN_ERROR_CODES.some((own) => own === code))
    .map(([code]) => code);
}

/** A rate limit by the name that the RateLimit headers give it. */
export interface RatePolicy {
  name: string;
  max: number;
  seconds: number;
}

export type ErrorDetails = Record<string, unknown>;

/** An error for the client. Its `cause` is private and only logged. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** For `rate_limited`: the limit that was exceeded, if clients are told its name. */
  readonly policy: RatePolicy | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      details?: ErrorDetails;
      retryAfterSeconds?: number;
      policy?: RatePolicy | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.details = options.details;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.policy = options.policy;
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

/** The error of a request that is not valid as it is; `details` name the field and the reason. */
export function invalidRequest(message: string, details: ErrorDetails, cause?: unknown): ApiError {
  return new ApiError('invalid_request', message, { details, cause });
}

/** The body of every error response: the contract's error envelope. */
export function errorEnvelope(code: ErrorCode, message: string, details?: ErrorDetails) {
  return { error: details === undefined ? { code, message } : { code, message, details } };
}

/** An operator's mistake in a command or in the configuration; shown in one line, no stack. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Refused input from an operator; a command says `--option` for a field, a page its label. */
export class Refusal extends UsageError {
  override name = 'Refusal';
  readonly field: string;
  readonly value: unknown;
  readonly bound: string;

  /**
   * @param field such as `expires_at`
   * @param bound continues the sentence after the field's name, such as `must be in the future`.
   *   Names of other fields are in braces
   */
  constructor(field: string, value: unknown, bound: string) {
    super(wordingOf(field, bound, (name) => name.replaceAll('_', ' ')));
    this.field = field;
    this.value = value;
    this.bound = bound;
  }

  /** The sentence for a reader who knows the fields by these names. */
  wording(nameOf: (field: string) => string): string {
    return wordingOf(this.field, this.bound, nameOf);
  }
}

function wordingOf(field: string, bound: string, nameOf: (field: string) => string): string {
  return `{${field}} ${bound}`.replace(/\{(\w+)\}/g, (_, name: string) => nameOf(name));
}

const DISK_FULL = ['ENOSPC', 'EDQUOT'];

/** Whether a file could not be written because its disk is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && DISK_FULL.includes(String(error.code));
}
