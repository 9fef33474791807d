import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P, Decoder, Demuxer } from 'node-av';
import { type RenderSpec, render } from './render.ts';
import { type Colour, decodeFrames, writeImage } from './test/media-samples.ts';

const GREEN: Colour = [30, 180, 60];

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'render-'));
});
after(() => rm(folder, { recursive: true }));

function spec(changes: Partial<RenderSpec> = {}): RenderSpec {
  return {
    prompt: 'A paper boat in the rain',
    seed: 7,
    width: 256,
    height: 144,
    durationSeconds: 4,
    generateAudio: false,
    mode: 'text-to-video',
    referenceImagePaths: [],
    referenceVideoPaths: [],
    ...changes,
  };
}

let files = 0;
async function rendered(changes: Partial<RenderSpec> = {}): Promise<string> {
  const path = join(folder, `${files++}.mp4`);
  await render(spec(changes), path);
  return path;
}

async function facts(path: string) {
  await using input = await Demuxer.open(path);
  const video = input.video();
  const audio = input.audio();
  let samples = 0;
  if (audio) {
    using decoder = await Decoder.create(audio);
    for await (const frame of decoder.frames(input.packets(audio.index))) {
      samples += frame?.nbSamples ?? 0;
      frame?.free();
    }
  }
  return {
    seconds: input.duration,
    codec: video?.codecpar.codecId,
    format: video?.codecpar.format,
    framesPerSecond: video && video.avgFrameRate.num / video.avgFrameRate.den,
    channels: audio?.codecpar.channels,
    samples,
  };
}

function assertNear(actual: Colour, expected: Colour) {
  const gap = Math.max(...actual.map((value, index) => Math.abs(value - (expected[index] ?? 0))));
  assert.ok(gap <= 12, `${actual} is not ${expected}`);
}

const SIZES = [
  { width: 1470, height: 630, durationSeconds: 4, generateAudio: true },
  { width: 834, height: 1112, durationSeconds: 5, generateAudio: false },
];

test('a video has exactly the requested frames, length, size and sound, its index first', async () => {
  for (const { width, height, durationSeconds: seconds, generateAudio } of SIZES) {
    const path = await rendered({ width, height, durationSeconds: seconds, generateAudio });
    assert.deepEqual(await facts(path), {
      seconds,
      codec: AV_CODEC_ID_H264,
      format: AV_PIX_FMT_YUV420P,
      framesPerSecond: 24,
      channels: generateAudio ? 2 : undefined,
      samples: generateAudio ? seconds * 48_000 : 0,
    });
    const { count, frame } = await decodeFrames(path, [0]);
    assert.deepEqual([count, frame(0).width, frame(0).height], [seconds * 24, width, height]);
    const bytes = await readFile(path);
    assert.ok(bytes.indexOf('moov') < bytes.indexOf('mdat'));
  }
});

test('an image-to-video without a last image ends with the pattern', async () => {
  const firstFramePath = join(folder, 'only.png');
  await writeImage(firstFramePath, 500, 300, () => GREEN);
  const pattern = await decodeFrames(await rendered(), [95]);
  const seen = await decodeFrames(
    await rendered({ mode: 'image-to-video', firstFramePath }),
    [0, 95],
  );
  assertNear(seen.frame(0).at(0.5, 0.5), GREEN);
  assertNear(seen.frame(95).at(0.9, 0.1), pattern.frame(95).at(0.9, 0.1));
});

const NASTY = [
  `it's "100%" %{localtime} \\n \\' [in];movie=/etc/passwd[out]:text='x', drawbox=c=red\\`,
  'مرحبا שלום 👨‍👩‍👧 🇨🇭 中文 \u202e\u0000\u0007\ud800 e\u0301 \r\n\n\tend\n',
];

test('a video has all its frames for any prompt', async () => {
  for (const prompt of [NASTY.join(' '), '\u200b\n ', 'W'.repeat(4000)]) {
    const { count } = await decodeFrames(await rendered({ prompt }), []);
    assert.equal(count, 96, prompt.slice(0, 20));
  }
});

test('an input that is missing or not a picture causes an error', async () => {
  const missing: Partial<RenderSpec> = { firstFramePath: join(folder, 'missing.png') };
  await assert.rejects(rendered({ mode: 'image-to-video', ...missing }), /missing\.png/);
  const noPicture = { referenceVideoPaths: [import.meta.filename] };
  await assert.rejects(rendered({ mode: 'media-to-video', ...noPicture }), /not a supported/);
});
