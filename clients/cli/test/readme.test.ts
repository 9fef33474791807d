import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fwSample } from '../../../console/src/samples.ts';
import { EXITS } from '../src/failure.ts';
import { openMachine } from './fw-process.ts';

const README = await readFile(new URL('../README.md', import.meta.url), 'utf8');

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
  assert.deepEqual(named, [0, ...Object.values(EXITS).map(([code]) => code), 130]);
});

test('bash completes options, values and commands', async () => {
  await using machine = await openMachine({});
  const { out } = await machine.fw('completion', 'bash');
  const script = `${out}
    COMP_WORDS=(fw generate --res) COMP_CWORD=2; _fw; echo "\${COMPREPLY[*]}"
    COMP_WORDS=(fw tasks --status '') COMP_CWORD=3; _fw; echo "\${COMPREPLY[*]}"
    COMP_WORDS=(fw cre) COMP_CWORD=1; _fw; echo "\${COMPREPLY[*]}"`;
  const bash = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  assert.equal(bash.stdout, '--resolution\nprocessing completed failed\ncredits\n', bash.stderr);
});
