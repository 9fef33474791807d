import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createAccount } from '../../../server/src/accounts/accounts.ts';
import { createKey } from '../../../server/src/accounts/api-keys.ts';
import { openMediaFixture } from '../../../server/test/media/media-fixture.ts';
import { EXIT_CODES } from '../src/failure.ts';
import { noTerminal, openMachine } from './fw-process.ts';

const PACK = fileURLToPath(new URL('../../pack.ts', import.meta.url));
const README = await readFile(new URL('../README.md', import.meta.url), 'utf8');

const runFile = promisify(execFile);

test('the README names each exit code', () => {
  const named = [...README.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  assert.deepEqual(named, [0, ...Object.values(EXIT_CODES), 130]);
});

const TITLE = 'the example of the README makes a video with the package as it is installed';

test(TITLE, { skip: noTerminal }, async () => {
  const fixture = await openMediaFixture();
  await using machine = await openMachine({});
  const { folder, env } = machine;
  await runFile(process.execPath, [PACK, folder, 'typescript', 'cli']);
  const npm = (...args: string[]) =>
    runFile('npm', [...args, '--offline', '--silent'], { env, cwd: folder });
  await npm('pack', './typescript', './cli');
  const archives = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  await writeFile(path.join(folder, 'package.json'), '{"private": true}');
  await npm('install', ...archives.map((name) => `./${name}`));
  env.PATH = `${path.join(folder, 'node_modules/.bin')}:${env.PATH}`;

  const accountId = await createAccount(fixture.db, 'ada@example.com');
  const { secret } = await createKey(fixture.db, { accountId, mode: 'test' });
  const [, example = ''] = /```sh\n(.*?)```/s.exec(README) ?? [];
  const [install, ...commands] = example
    .replace('https://video.example.com', fixture.url)
    .split('\n');
  assert.equal(install, 'npm install --global @framewright/cli');
  await writeFile(path.join(folder, 'example.sh'), commands.join('\n'));
  const terminal = machine.inTerminal('sh -e example.sh');
  await terminal.shows(/API key/);
  terminal.type(`${secret}\r`);
  await terminal.shows(/Make it\?/);
  terminal.type('y\r');
  assert.equal(await terminal.end, 0);
  const video = await readFile(path.join(folder, 'dawn.mp4'));
  assert.equal(video.subarray(4, 8).toString(), 'ftyp');
  await fixture.close();
});
