import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { test } from 'node:test';

const folder = new URL('..', import.meta.url).pathname;
const programs = globSync('*/main.ts', { cwd: folder });

function run(program: string, option: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [folder + program, option], {
    encoding: 'utf8',
    timeout: 15_000,
  });
  return { status, stdout, stderr };
}

test('every simulator has a usage text, and says a wrong option in one line', () => {
  assert.ok(programs.length >= 8);
  for (const program of programs) {
    const help = run(program, '--help');
    assert.match(help.stdout, new RegExp(`^Usage: npx node simulators/${program} .*--port N`, 's'));
    assert.deepEqual([help.status, help.stderr], [0, '']);
    const wrong = run(program, '--wrong');
    assert.match(wrong.stderr, /^Unknown option '--wrong'\. See .* --help\n$/);
    assert.deepEqual([wrong.status, wrong.stdout], [2, '']);
  }
  assert.equal(run('s3/main.ts', '--port=x').stderr.split('\n').length, 2);
  assert.equal(run('fal/main.ts', '--port=0').stderr.split('.')[0], '--record is missing');
});
