import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT, sources } from '../repository/sources.ts';
import { isLeftOut, leftOutLine, ONLY_IN_ALL, ONLY_IN_CI } from './left-out.ts';
import { amountOf } from './thorough.ts';

const tests = sources.filter(({ name }) => name.endsWith('.test.ts'));
const page = await readFile(path.join(ROOT, 'docs/testing.md'), 'utf8');

/** The section of docs/testing.md with this title. */
function sectionOf(title: string): string {
  const [, section = ''] = page.split(`## ${title}\n`);
  return section.split('\n## ', 1).join();
}

/** Files whose base names the section lacks. */
function missingIn(title: string, files: string[]): string[] {
  const section = sectionOf(title);
  return files.filter((file) => !section.includes(path.basename(file, '.test.ts')));
}

/** Files with this in their text; the tests of the runner only speak of it. */
function namesOf(pattern: RegExp): string[] {
  const files = tests.filter(({ name }) => !name.startsWith('server/test/runner/'));
  return files.filter(({ text }) => pattern.test(text)).map(({ name }) => name);
}

test('docs/testing.md names each file of which CI leaves something out', () => {
  const partly = namesOf(
    /\b(thoroughly|testOfRow)\(|!LEFT_OUT|&& LEFT_OUT|LEFT_OUT \?|TESTS !== 'all'/,
  );
  assert.ok(partly.length > 10);
  assert.deepEqual(missingIn('What CI leaves out', [...ONLY_IN_ALL, ...partly]), []);
});

test('docs/testing.md names each file of which the quick run leaves something out', () => {
  const left = tests.map(({ name }) => name).filter((name) => isLeftOut(name, 'quick'));
  const partly = namesOf(/\binCi\(|\btestOfRow\([^)]*,[^)]*,|\|\| LEFT_TO_CI/);
  assert.ok(partly.length > 10);
  const files = [...left.filter((name) => !isLeftOut(name, 'ci')), ...partly];
  assert.deepEqual(missingIn('What the quick run leaves out', files), []);
});

test('each file that is left out exists', () => {
  const names = tests.map(({ name }) => name);
  const nothing = [...ONLY_IN_ALL, ...ONLY_IN_CI].filter(
    (glob) => !names.some((name) => path.matchesGlob(name, glob)),
  );
  assert.deepEqual(nothing, []);
});

test('CI runs all files but those that repeat others, and is asked to', async () => {
  const left = tests.map(({ name }) => name).filter((name) => isLeftOut(name, 'ci'));
  assert.deepEqual(left.toSorted(), [...ONLY_IN_ALL].toSorted());
  assert.match(
    await readFile(path.join(ROOT, '.ci/run'), 'utf8'),
    /^FRAMEWRIGHT_TESTS=ci npm test$/m,
  );
});

test('FRAMEWRIGHT_TESTS=all leaves out no file', () => {
  assert.ok(tests.every(({ name }) => !isLeftOut(name, 'all')));
});

test('an amount that is not known is refused, none is the quick one', () => {
  assert.equal(amountOf(undefined), 'quick');
  assert.equal(amountOf('ci'), 'ci');
  assert.throws(() => amountOf('al'), /FRAMEWRIGHT_TESTS must be quick, ci, all or unset, not al/);
});

test('a run says what it left out, and how to run the rest', () => {
  const left = { files: 5, tests: 137 };
  assert.match(
    leftOutLine('quick', left),
    /^This was the quick run: 5 files and 137 tests .*=ci npm/,
  );
  assert.match(leftOutLine('ci', left), /^5 files and 137 tests were left out.*=all npm test/);
  assert.match(leftOutLine('all', { files: 0, tests: 0 }), /^All tests were run/);
});
