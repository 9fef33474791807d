import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { FIRST_REQUEST, fwSample, packageUrl } from '../../../console/src/samples.ts';
import { createAccount } from '../../../server/src/accounts/accounts.ts';
import { createKey } from '../../../server/src/accounts/api-keys.ts';
import { longTest } from '../../../server/test/long.ts';
import { openMediaFixture } from '../../../server/test/media/media-fixture.ts';
import { VERSION } from '../../typescript/src/version.ts';
import { EXIT_CODES } from '../src/failure.ts';
import { noTerminal, openMachine } from './fw-process.ts';

const PACK = fileURLToPath(new URL('../../packing/pack.ts', import.meta.url));
const README = await readFile(new URL('../README.md', import.meta.url), 'utf8');

const runFile = promisify(execFile);

test('the sample of the website says all of a request in the words of a shell', () => {
  const sample = fwSample('https://video.example.com/api/v1', {
    mode: 'media-to-video',
    prompt: "It's a dance",
    reference_image_urls: ['https://example.com/a.png?size=1&x=2'],
    reference_video_urls: ['https://example.com/uploads/obj_1'],
    reference_video_durations: [3],
    generate_audio: false,
  });
  assert.ok(
    sample.endsWith(String.raw`fw generate 'It'\''s a dance' \
  --reference 'https://example.com/a.png?size=1&x=2' \
  --reference 'https://example.com/uploads/obj_1#3' \
  --no-audio \
  -o video.mp4`),
    sample,
  );
});

test('the README names each exit code', () => {
  const named = [...README.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  assert.deepEqual(named, [0, ...Object.values(EXIT_CODES), 130]);
});

const TITLE = 'the examples of the README and the website make videos with the installed package';

longTest(TITLE, { skip: noTerminal }, async () => {
  const fixture = await openMediaFixture();
  await using machine = await openMachine({});
  const { folder, env } = machine;
  await runFile(process.execPath, [PACK, folder]);
  const npm = (...args: string[]) =>
    runFile('npm', [...args, '--offline', '--silent'], { env, cwd: folder });
  await writeFile(path.join(folder, 'package.json'), '{"private": true}');
  await npm('install', `./framewright-cli-${VERSION}.tgz`);
  env.PATH = `${path.join(folder, 'node_modules/.bin')}:${env.PATH}`;

  const accountId = await createAccount(fixture.db, 'ada@example.com');
  const { secret } = await createKey(fixture.db, { accountId, mode: 'test' });
  const [, example = ''] = /```sh\n(.*?)```/s.exec(README) ?? [];
  const install = `npm install --global ${packageUrl(`${fixture.url}/api/v1`, 'cli')}`;
  for (const [script, file] of [
    [example.replaceAll('https://video.example.com', fixture.url), 'dawn.mp4'],
    [fwSample(`${fixture.url}/api/v1`, FIRST_REQUEST), 'video.mp4'],
  ] as const) {
    assert.ok(script.includes(install));
    await writeFile(path.join(folder, 'example.sh'), script.replace(install, ''));
    const terminal = machine.inTerminal('sh -e example.sh');
    await terminal.shows(/API key/);
    terminal.type(`${secret}\r`);
    await terminal.shows(/Make it\?/);
    terminal.type('y\r');
    assert.equal(await terminal.end, 0);
    const video = await readFile(path.join(folder, file));
    assert.equal(video.subarray(4, 8).toString(), 'ftyp');
  }
  await fixture.close();
});
