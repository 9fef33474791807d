import type { RefusalCase, StatusCase } from './subject.ts';

/** What refusals and statuses mean; used by the cases. */
export const busy = { fault: 'busy' } as const;
export const operator = { fault: 'operator' } as const;

export function request(
  code: 'content_refused' | 'invalid_media' | 'invalid_request',
): RefusalCase['becomes'] {
  return { fault: 'request', code };
}

export const working = { kind: 'working' } as const;
export const succeeded = { kind: 'succeeded' } as const;

export function failed(
  code: 'provider_failed' | 'content_refused' | 'generation_expired',
  billed: boolean | null,
): StatusCase['becomes'] {
  return { kind: 'failed', code, billed };
}
