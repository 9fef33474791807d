import type { ApiError } from '../kernel/errors.ts';

/** What an error of a create means for its credits, and how to retry. */
interface Consequence {
  code: ApiError['code'];
  /** Which errors of this code; undefined: all others. */
  when?: 'task_id' | 'not_taken' | 'refunded' | undefined;
  /** `reserved` also if it is unknown whether they were. */
  charged: 'no' | 'reserved' | 'refunded';
  /** The Idempotency-Key for a retry with the same body. `never`: it can't succeed. */
  retry: 'same_key' | 'new_key' | 'never';
}

/** All errors of a create; docs/ERRORS.md has the same table. The first matching row wins. */
export const CREATE_ERRORS: readonly Consequence[] = [
  { code: 'invalid_request', when: 'task_id', charged: 'refunded', retry: 'new_key' },
  { code: 'invalid_request', charged: 'no', retry: 'never' },
  { code: 'unauthorized', charged: 'no', retry: 'same_key' },
  { code: 'insufficient_credits', charged: 'no', retry: 'same_key' },
  { code: 'idempotency_conflict', charged: 'no', retry: 'new_key' },
  { code: 'payload_too_large', charged: 'no', retry: 'never' },
  { code: 'rate_limited', charged: 'no', retry: 'same_key' },
  { code: 'internal_error', charged: 'no', retry: 'same_key' },
  { code: 'service_busy', when: 'refunded', charged: 'refunded', retry: 'same_key' },
  { code: 'service_busy', when: 'not_taken', charged: 'no', retry: 'same_key' },
  { code: 'service_busy', charged: 'reserved', retry: 'same_key' },
];

/** The members that a create adds to an error's `details`. */
export function consequenceOf({ code, details = {} }: ApiError): object {
  const fits = (when: Consequence['when']) => {
    if (when === 'task_id') return details.task_id !== undefined;
    if (when === 'not_taken') return details.reason === 'not_taken';
    return when === undefined || details.credits === when;
  };
  const row = CREATE_ERRORS.find((one) => one.code === code && fits(one.when));
  return row === undefined ? {} : { charged: row.charged, retry: row.retry };
}
