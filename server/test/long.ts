import { type TestFn, type TestOptions, test } from 'node:test';

const amount = process.env.FRAMEWRIGHT_TESTS;
if (amount !== undefined && amount !== 'all')
  throw new Error(`FRAMEWRIGHT_TESTS must be all or unset, not ${amount}`);

/** Whether this is the long run, `FRAMEWRIGHT_TESTS=all` (docs/testing.md). */
export const LONG = amount === 'all';

/** The reason why a test of the long run is skipped; false in the long run. */
export const unlessLong = !LONG && 'FRAMEWRIGHT_TESTS=all runs it';

/** A test of the long run: it repeats what a cheaper one shows, at other points or in other forms. */
export function longTest(title: string, ...rest: [TestFn] | [TestOptions, TestFn]): void {
  const [options, run] = rest.length === 1 ? [{}, rest[0]] : rest;
  void test(title, { ...options, skip: options.skip || unlessLong }, run);
}
