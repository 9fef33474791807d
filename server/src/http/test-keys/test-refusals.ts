import { windowIsFull } from '../../accounts/key-gate.ts';
import type { GenerationRequest } from '../../catalog/request.ts';
import { testOutcomeOf } from '../../catalog/test-outcomes.ts';
import { insufficientCredits } from '../../ledger/reserve.ts';
import { TEST_SURFACE } from '../../ledger/transfer.ts';
import type { CheckedRequest } from '../../tasks/create/checked-request.ts';

/** The Retry-After of the word `test-rate-limited`. */
const WAIT_SECONDS = 2;

/**
 * Refuses a create of a test key whose prompt asks for it.
 * @throws ApiError `rate_limited`, `insufficient_credits`
 */
export function refuseIfAsked({ binding, request, price }: CheckedRequest): void {
  if (binding.surface !== TEST_SURFACE) return;
  const outcome = testOutcomeOf(request.prompt);
  if (outcome === 'rate-limited') throw windowIsFull(WAIT_SECONDS);
  if (outcome === 'insufficient-credits') throw insufficientCredits(price.credits, 'test');
}

/** Whether the prompt of a test key asks that its credits do not suffice. */
export function asksForTooFew(surface: string, { prompt }: GenerationRequest): boolean {
  return surface === TEST_SURFACE && testOutcomeOf(prompt) === 'insufficient-credits';
}
