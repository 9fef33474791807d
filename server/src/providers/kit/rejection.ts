import type { SubmitOutcome } from '../provider.ts';

type Rejection = Extract<SubmitOutcome, { kind: 'rejected' }>;

/** What a client is told about a refused request. */
export type RequestFault = Pick<Extract<Rejection, { fault: 'request' }>, 'code' | 'message'>;

export const MEDIA_FAULT: RequestFault = {
  code: 'invalid_media',
  message: 'The provider could not use an input file.',
};

const FAULTS_BY_STATUS: Record<number, Rejection['fault']> = {
  400: 'request',
  413: 'request',
  422: 'request',
  429: 'busy',
};

/** Whose fault a refused submit is, by HTTP status; the operator's if it is not listed. */
export function faultOfStatus(status: number): Rejection['fault'] {
  return FAULTS_BY_STATUS[status] ?? 'operator';
}

/** A refusal that is not about the request. */
export function rejected(
  fault: 'busy' | 'operator',
  cause: string,
  retryAfterSeconds?: number,
): Rejection {
  return {
    kind: 'rejected',
    fault,
    cause,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

/** A refused request; if no fault is known, the model does not take one of its parameters. */
export function rejectedRequest(cause: string, known: RequestFault | undefined): Rejection {
  const message = 'The provider does not take a parameter of this request.';
  return { kind: 'rejected', fault: 'request', code: 'invalid_request', message, ...known, cause };
}

/** Enough for an operator; a whole error page is cut. */
const MAX_CHARACTERS = 1000;

/**
 * The beginning of a provider's text, fit to be stored. Half of a surrogate pair, which Postgres
 * rejects, becomes U+FFFD, whether the cut or the provider made it.
 * @param maxCharacters in UTF-16 units; 1000 if not given
 */
export function truncate(text: string, maxCharacters = MAX_CHARACTERS): string {
  return text.slice(0, maxCharacters).toWellFormed();
}
