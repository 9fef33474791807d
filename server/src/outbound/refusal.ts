import { errors } from 'undici';

/** Why the guarded fetch refused a download. The first four can be told from a URL alone. */
export type OutboundRefusal =
  | 'malformed_url'
  | 'not_https'
  | 'credentials_in_url'
  | 'not_public'
  | 'not_reachable'
  | 'too_many_redirects'
  | 'too_large'
  | 'too_slow';

/**
 * A download that the host or its address is to blame for. Message and details are fit for a
 * client: they never hold an IP address that a look-up revealed. The private reason is in `cause`.
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

  /** The same refusal, saying that it met a redirect's target and not the URL that was given. */
  afterRedirects(redirects: number): OutboundError {
    const message = `${this.message} (after ${redirects} redirect${redirects === 1 ? '' : 's'})`;
    const details = { ...this.details, redirects };
    return new OutboundError(this.reason, message, { details, cause: this.cause });
  }
}

type CodeRefusal = [codes: RegExp, reason: OutboundRefusal, message: string];

/** Error codes of Node, OpenSSL, undici and zlib, the first match counts. */
const REFUSALS: CodeRefusal[] = [
  [/^UND_ERR_CONNECT_TIMEOUT$|^ETIMEDOUT$/, 'too_slow', 'The host did not connect in time'],
  [/^UND_ERR_HEADERS_TIMEOUT$/, 'too_slow', 'The host did not begin its answer in time'],
  [/^UND_ERR_BODY_TIMEOUT$/, 'too_slow', 'The host stopped sending'],
  [/^(ENOTFOUND$|EAI_|ENODATA$)/, 'not_reachable', 'The host name could not be resolved'],
  [/^ECONNREFUSED$/, 'not_reachable', 'The host refused the connection'],
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'not_reachable', 'The headers of the answer are too large'],
  [/^Z_|ZLIB|BROTLI|^ERR__ERROR/, 'not_reachable', 'The content encoding could not be decoded'],
  [
    /^UND_ERR_(SOCKET|RES_CONTENT_LENGTH)|^ECONNRESET$|^EPIPE$|PREMATURE/,
    'not_reachable',
    'The host closed the connection before its whole answer had arrived',
  ],
  [/^HPE_|^UND_ERR_INFO$/, 'not_reachable', 'The host did not answer in proper HTTP'],
  [
    /CERT|SSL|TLS|^EPROTO$|SELF_SIGNED|UNABLE_TO/,
    'not_reachable',
    'No trusted TLS connection could be made to the host',
  ],
];

/**
 * What a network failure means to the caller. A failure that carries no code is not the
 * network's: it is a fault of ours and comes back untouched.
 */
export function refusalFor(failure: unknown): unknown {
  if (failure instanceof OutboundError || !(failure instanceof Error)) return failure;
  const code = errorCode(failure);
  if (code === undefined || code === 'UND_ERR_INVALID_ARG') return failure;
  const [, reason, message] = REFUSALS.find(([codes]) => codes.test(code)) ?? [
    /./,
    'not_reachable' as const,
    'The host could not be reached',
  ];
  return new OutboundError(reason, message, { cause: failure });
}

function errorCode(failure: Error): string | undefined {
  if (failure instanceof errors.HTTPParserError) return 'HPE_'; // it may carry no code at all
  return 'code' in failure && typeof failure.code === 'string' ? failure.code : undefined;
}
