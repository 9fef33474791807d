import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fwSample } from '../../../console/src/samples.ts';
import { EXITS } from '../src/failure.ts';

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
