import assert from 'node:assert/strict';

const BOAT = '\u{26F5}\u{1F6F6}';

/** Very long texts of surrogate pairs: a cut at any length halves a pair in one of them. */
const LONG_WORDS = [BOAT.slice(1).repeat(1000), `x${BOAT.slice(1).repeat(1000)}`];

/**
 * Asserts that what an adapter stores of a provider's words is bounded and well formed.
 * @param causesOf what the adapter makes of a text
 */
export function assertTruncated(causesOf: (words: string) => Array<string | undefined>): void {
  for (const cause of LONG_WORDS.flatMap(causesOf)) {
    assert.ok(cause !== undefined && cause.length <= 1000);
    assert.ok(cause.isWellFormed(), `${cause.slice(0, 40)} ... ${JSON.stringify(cause.slice(-2))}`);
  }
}
