import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { longTest, unlessLong } from '../long.ts';
import { ROOT } from '../repository/sources.ts';
import { GUARDS, type Guard } from './guards.ts';

/** A test that does not end without its guard has not failed. */
const LIMIT_SECONDS = 300;

test('each guard stands once in its file, and each run has its test', async () => {
  for (const { file, text, test: name, title } of GUARDS) {
    const parts = (await readFile(path.join(ROOT, file), 'utf8')).split(text);
    assert.equal(parts.length, 2, `${file} has ${parts.length - 1} times: ${text}`);
    // Another function than `test` could leave it out.
    const found = new RegExp(`\\btest\\(\\s*['\`]${RegExp.escape(title)}`);
    assert.match(await readFile(path.join(ROOT, name), 'utf8'), found);
  }
});

/** A copy of the files that git knows, in which guards are broken one after the other. */
let copy: string;

before(async () => {
  if (unlessLong) return;
  copy = await mkdtemp(path.join(tmpdir(), 'framewright-guards-'));
  const { stdout } = await promisify(execFile)('git', ['ls-files', '-coz', '--exclude-standard'], {
    cwd: ROOT,
    maxBuffer: 2 ** 24,
  });
  for (const name of stdout.split('\0').filter(Boolean)) {
    await cp(path.join(ROOT, name), path.join(copy, name));
  }
  await symlink(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
});
after(async () => {
  if (!unlessLong) await rm(copy, { recursive: true, force: true });
});

/** Runs the test of a guard in the copy, and returns what it prints. */
async function runTest({ test: file, title }: Guard): Promise<string> {
  const pattern = `--test-name-pattern=${RegExp.escape(title)}`;
  // Inside of a test, Node's runner would print for the outer one.
  const { NODE_TEST_CONTEXT, FRAMEWRIGHT_TEST_HOME, FRAMEWRIGHT_TESTS, ...env } = process.env;
  const child = spawn(process.execPath, ['server/test/run.ts', pattern, file], {
    cwd: copy,
    env,
    timeout: LIMIT_SECONDS * 1000,
  });
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  await once(child, 'close');
  return printed;
}

for (const guard of GUARDS) {
  const line = guard.text.replace(/\s+/g, ' ').trim();
  longTest(`the test fails without its guard: ${guard.file}, ${line}`, async () => {
    const file = path.join(copy, guard.file);
    const whole = await readFile(file, 'utf8');
    await writeFile(
      file,
      whole.replace(guard.text, () => guard.broken),
    );
    try {
      const printed = await runTest(guard);
      const failed = new RegExp(`^✖ ${RegExp.escape(guard.title)}`, 'm');
      assert.match(printed, failed);
    } finally {
      await writeFile(file, whole);
    }
  });
}
