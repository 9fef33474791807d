/**
 * The outcomes of a test key's create, by the word `test-...` in its prompt.
 * docs/customers/test-keys.md lists them for customers.
 */
export const TEST_OUTCOMES = [
  'completed',
  'slow',
  'refused',
  'failed',
  'busy',
  'held-accepted',
  'held-refused',
  'media-unreachable',
  'rate-limited',
  'insufficient-credits',
] as const;

export type TestOutcome = (typeof TEST_OUTCOMES)[number];

/** The outcome that a prompt asks for: the first of its words counts. */
export function testOutcomeOf(prompt: string): TestOutcome {
  for (const [, word] of prompt.toLowerCase().matchAll(/\btest-([a-z]+(?:-[a-z]+)*)/g)) {
    const outcome = TEST_OUTCOMES.find((name) => name === word);
    if (outcome) return outcome;
  }
  return 'completed';
}
