import type { RatePolicy } from '../kernel/errors.ts';

/**
 * A rate window as draft-ietf-httpapi-ratelimit-headers describes it (`r`, `t`, `q`, `w`).
 * The window slides: `t` is the time until its oldest request leaves it, so until then exactly
 * `remaining` requests pass.
 */
export function rateLimitHeaders(
  { name, max, seconds }: RatePolicy,
  { remaining, resetSeconds }: { remaining: number; resetSeconds: number },
) {
  return {
    ratelimit: `"${name}";r=${remaining};t=${resetSeconds}`,
    'ratelimit-policy': `"${name}";q=${max};w=${seconds}`,
  };
}
