import { type TestFn, type TestOptions, test } from 'node:test';

/** How much a run tests. Each amount has all tests of the one before; docs/testing.md tells more. */
const AMOUNTS = ['quick', 'ci', 'all'] as const;
export type Amount = (typeof AMOUNTS)[number];

/** What the variable asks for. The runner sets it for files that are named on its command line. */
export const AMOUNT = amountOf(process.env.FRAMEWRIGHT_TESTS);

/** @throws Error if there is no such amount */
export function amountOf(given = 'quick'): Amount {
  const amount = AMOUNTS.find((name) => name === given);
  if (amount) return amount;
  throw new Error(`FRAMEWRIGHT_TESTS must be ${AMOUNTS.join(', ')} or unset, not ${given}`);
}

/**
 * Why a test is skipped that repeats, at another point or with another tool, what a test of CI shows;
 * false if it runs.
 */
export const LEFT_OUT = AMOUNT !== 'all' && 'FRAMEWRIGHT_TESTS=all runs it';

/** Why the quick run skips a test: it costs much, and a cheaper one shows the guarantee once. */
export const LEFT_TO_CI = AMOUNT === 'quick' && 'FRAMEWRIGHT_TESTS=ci runs it';

type Rest = [TestFn] | [TestOptions, TestFn];

/** A test of `FRAMEWRIGHT_TESTS=all` only, see {@link LEFT_OUT}. */
export function thoroughly(title: string, ...rest: Rest): void {
  define(title, rest, LEFT_OUT);
}

/** A test of CI that the quick run skips, see {@link LEFT_TO_CI}. */
export function inCi(title: string, ...rest: Rest): void {
  define(title, rest, LEFT_TO_CI);
}

/** Tests of a table: CI runs the first `usual` rows, the quick run the first `quick` of them. */
export function testOfRow(index: number, usual: number, quick = usual) {
  const why = index < usual ? index >= quick && LEFT_TO_CI : LEFT_OUT;
  return (title: string, ...rest: Rest) => define(title, rest, why);
}

function define(title: string, rest: Rest, why: string | false): void {
  const [options, run] = rest.length === 1 ? [{}, rest[0]] : rest;
  void test(title, { ...options, skip: options.skip || why }, run);
}
