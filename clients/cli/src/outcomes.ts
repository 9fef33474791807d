/** The outcomes that a test key's prompt can ask for, as the service documents them. */
export const OUTCOMES: Record<string, { create: string; end: string }> = {
  'test-completed': { create: '202', end: 'completed' },
  'test-slow': { create: '202', end: 'completed' },
  'test-refused': { create: '400 invalid_request', end: 'content_refused' },
  'test-media-unreachable': { create: '400 invalid_request', end: 'invalid_media' },
  'test-busy': { create: '503 service_busy', end: 'not_accepted' },
  'test-failed': { create: '202', end: 'provider_failed' },
  'test-held-accepted': { create: '503 service_busy', end: 'completed' },
  'test-held-refused': { create: '503 service_busy', end: 'not_accepted' },
  'test-rate-limited': { create: '429 rate_limited', end: '' },
  'test-insufficient-credits': { create: '402 insufficient_credits', end: '' },
};
