import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { temporaryFolder } from '../temporary-folder.ts';

const TOGETHER = new URL('together.ts', import.meta.url).href;

/** Runs files with these bodies in one process. */
async function runBodies(...bodies: string[]) {
  await using folder = await temporaryFolder();
  const files = bodies.map((_, index) => path.join(folder.path, `file-${index}.test.mjs`));
  for (const [index, file] of files.entries()) {
    await writeFile(file, `import { after, before, test } from 'node:test';\n${bodies[index]}`);
  }
  const code = `import { runTogether } from '${TOGETHER}';
    await runTogether(${JSON.stringify(files)}, 10_000);`;
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { env });
  const [out, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  return { out, status };
}

const HOOKS = `let is = 'not begun';
  before(() => { is = 'begun'; });
  after(() => { globalThis.console.log('hooks of', import.meta.filename, is); });
  test('has its own hooks', () => { if (is !== 'begun') throw new Error(is); });`;

test('files in one process have hooks of their own, also with an await at the top', async () => {
  const { out, status } = await runBodies(HOOKS, `await Promise.resolve();\n${HOOKS}`);
  assert.equal(status, 0, out);
  const ran = out.match(/hooks of .*file-\d|has its own hooks/g)?.map((line) => line.slice(-6));
  assert.deepEqual(
    ran?.filter((line) => line.startsWith('file-')),
    ['file-0', 'file-1'],
    out,
  );
});

for (const [what, change] of Object.entries({
  'a variable': `process.env.LEFT = 'yes'`,
  'the folder': `process.chdir('/')`,
  'a global': `globalThis.fetch = () => {}`,
  'a listener': `process.on('SIGUSR2', () => {})`,
})) {
  test(`a file that leaves ${what} of its process changed fails; the next one runs`, async () => {
    const { out, status } = await runBodies(`test('passes', () => { ${change}; });`, HOOKS);
    assert.equal(status, 1, out);
    assert.match(out, /file-0\.test\.mjs leaves its process changed/);
    assert.match(out, /hooks of .*file-1\.test\.mjs begun/);
  });
}
