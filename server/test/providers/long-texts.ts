import assert from 'node:assert/strict';

const BOAT = '\u{26F5}\u{1F6F6}';

/** Very long texts of surrogate pairs: a cut at any length splits a pair in one of them. */
const LONG_TEXTS = [BOAT.slice(1).repeat(1000), `x${BOAT.slice(1).repeat(1000)}`];

/**
 * Asserts that what an adapter stores of a provider's text is bounded and well formed.
 * @param causesOf the causes that the adapter makes of a text
 */
export function assertTruncated(causesOf: (text: string) => Array<string | undefined>): void {
  for (const cause of LONG_TEXTS.flatMap(causesOf)) {
    assert.ok(cause !== undefined && cause.length <= 1000);
    assert.ok(cause.isWellFormed(), `${cause.slice(0, 40)} ... ${JSON.stringify(cause.slice(-2))}`);
  }
}
