import { type TestFn, type TestOptions, test } from 'node:test';

/**
 * Why a test is skipped that repeats, at another point or with another tool, what a test of each run
 * shows; false if it runs. docs/testing.md names these tests. The runner sets the variable for files
 * that are named on its command line.
 */
export const LEFT_OUT = process.env.FRAMEWRIGHT_TESTS !== 'all' && 'FRAMEWRIGHT_TESTS=all runs it';

/**
 * Files that a whole run leaves out, because other files show the same with less work.
 * `FRAMEWRIGHT_TESTS=all` runs them; docs/testing.md has the reasons.
 */
export const FILES_LEFT_OUT: readonly string[] = [
  'server/test/faults/heavy-media.test.ts',
  'server/test/faults/silent-names.test.ts',
  'server/test/fire/under-fire.test.ts',
  'server/test/media/ingest-memory.test.ts',
  'server/test/media/linked-packages.test.ts',
];

type Rest = [TestFn] | [TestOptions, TestFn];

/** A test that `npm test` leaves out, see {@link LEFT_OUT}. */
export function thoroughly(title: string, ...rest: Rest): void {
  define(title, rest, LEFT_OUT);
}

/** A usual test for the first rows of a table, {@link thoroughly} for the others. */
export function testOfRow(index: number, usual: number) {
  return (title: string, ...rest: Rest) => define(title, rest, index >= usual && LEFT_OUT);
}

function define(title: string, rest: Rest, why: string | false): void {
  const [options, run] = rest.length === 1 ? [{}, rest[0]] : rest;
  void test(title, { ...options, skip: options.skip || why }, run);
}
