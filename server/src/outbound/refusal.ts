import { errors } from 'undici';

/** Why a download was refused. The first five may follow from the URL alone. */
export type OutboundRefusal =
  | 'malformed_url'
  | 'not_https'
  | 'credentials_in_url'
  | 'port_not_allowed'
  | 'not_public'
  | 'not_reachable'
  | 'too_many_redirects'
  | 'too_large'
  | 'too_slow';

/**
 * A download that failed because of its host or URL. Message and details may be sent to a client:
 * they never contain an IP address of a host name. `cause` is never sent.
 */
export class OutboundError extends Error {
  override name = 'OutboundError';
  readonly reason: OutboundRefusal;
  readonly details: Record<string, unknown>;

  constructor(
    reason: OutboundRefusal,
    message: string,
    options: { details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.details = options.details ?? {};
  }

  /** The same refusal, for the target of a redirect instead of the given URL. */
  afterRedirects(redirects: number): OutboundError {
    const message = `${this.message} (after ${redirects} redirect${redirects === 1 ? '' : 's'})`;
    const details = { ...this.details, redirects };
    return new OutboundError(this.reason, message, { details, cause: this.cause });
  }
}

type CodeRefusal = [codes: RegExp, reason: OutboundRefusal, message: string];

/** Refusals by error code of Node, OpenSSL, undici and zlib. The first match counts. */
const REFUSALS: CodeRefusal[] = [
  [/^UND_ERR_CONNECT_TIMEOUT$|^ETIMEDOUT$/, 'too_slow', 'The host did not connect in time'],
  [/^UND_ERR_BODY_TIMEOUT$/, 'too_slow', 'The host stopped sending'],
  [/^(ENOTFOUND$|EAI_|ENODATA$)/, 'not_reachable', 'The host name could not be resolved'],
  [/^ECONNREFUSED$/, 'not_reachable', 'The host refused the connection'],
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'not_reachable', 'The response headers are too large'],
  [/^Z_|ZLIB|BROTLI|^ERR__ERROR/, 'not_reachable', 'The content encoding could not be decoded'],
  [
    /^UND_ERR_(SOCKET|RES_CONTENT_LENGTH)|^ECONNRESET$|^EPIPE$|PREMATURE/,
    'not_reachable',
    'The host closed the connection before the whole response had arrived',
  ],
  [/^HPE_|^UND_ERR_INFO$/, 'not_reachable', 'The host did not respond with valid HTTP'],
  [
    /CERT|SSL|TLS|^EPROTO$|SELF_SIGNED|UNABLE_TO/,
    'not_reachable',
    'No trusted TLS connection could be made to the host',
  ],
];

/** The refusal for a network failure. A failure without a code is a bug: returned unchanged. */
export function refusalFor(failure: unknown): unknown {
  if (failure instanceof OutboundError || !(failure instanceof Error)) return failure;
  const code = errorCode(failure);
  if (code === undefined || code === 'UND_ERR_INVALID_ARG') return failure;
  const [, reason = 'not_reachable', message = 'The host could not be reached'] =
    REFUSALS.find(([codes]) => codes.test(code)) ?? [];
  return new OutboundError(reason, message, { cause: failure });
}

function errorCode(failure: Error): string | undefined {
  if (failure instanceof errors.HTTPParserError) return 'HPE_'; // it may have no code
  return 'code' in failure && typeof failure.code === 'string' ? failure.code : undefined;
}
