import type { RefusalCase, StatusCase } from './subject.ts';

/** Has the simulator say this status of a job. */
export const forced = (forcedStatus: string) => ({ forcedStatus });
/** Has it say that a job failed with this code; `status` is its name for jobs that failed. */
export const failedWith = (code: string, status = 'failed') => ({
  ...forced(status),
  quirks: [{ kind: 'fails', code }],
});

/** What refusals and statuses mean; used by the cases. */
export const busy = { fault: 'busy' } as const;
export const operator = { fault: 'operator' } as const;

export function request(
  code: 'content_refused' | 'invalid_media' | 'invalid_request',
): RefusalCase['becomes'] {
  return { fault: 'request', code };
}

/** Refusals with these codes, which all mean the same. */
export function codes(becomes: RefusalCase['becomes'], ...all: string[]): RefusalCase[] {
  return all.map((code) => ({ fault: { code }, becomes }));
}

export const working = { kind: 'working' } as const;
export const succeeded = { kind: 'succeeded' } as const;

/** What the provider says of a job, what the simulator changes for it, and what it means. */
export function says(
  word: string,
  changes: StatusCase['changes'],
  becomes: StatusCase['becomes'],
): StatusCase {
  return { says: word, changes, becomes };
}

/** Refusals by an HTTP status alone, which hosts mean alike. */
export const REFUSED_BY_STATUS: RefusalCase[] = [
  { fault: { status: 400 }, becomes: request('invalid_request') },
  ...[401, 403, 404, 418].map((status) => ({ fault: { status }, becomes: operator })),
  { fault: { status: 429, retryAfterSeconds: 7 }, becomes: { ...busy, retryAfterSeconds: 7 } },
];

export function failed(
  code: 'provider_failed' | 'content_refused' | 'generation_expired',
  billed: boolean | null,
): StatusCase['becomes'] {
  return { kind: 'failed', code, billed };
}

/** An unbilled failure that certainly is the provider's own fault. */
export function ownFailure(code: 'provider_failed' | 'generation_expired'): StatusCase['becomes'] {
  return { ...failed(code, false), isProviderFault: true };
}
