import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { AV_CODEC_ID_H264, AV_LOG_ERROR, AV_PIX_FMT_YUV420P, Decoder, Demuxer, Log } from 'node-av';
import { type Colour, seenFrames, writeClip, writeImage } from './media-samples.ts';
import { type RenderSpec, renderVideo } from './render.ts';

const RED: Colour = [200, 30, 30];
const GREEN: Colour = [30, 180, 60];
const BLUE: Colour = [30, 60, 210];

let folder = '';
before(async () => {
  Log.setLevel(AV_LOG_ERROR);
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
  const path = join(folder, `${files++}.part`);
  assert.deepEqual(await renderVideo(spec(changes), path), { kind: 'rendered' });
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

test('a video has exactly the frames, length, size and sound asked for', async () => {
  const path = await rendered({ width: 1470, height: 630, generateAudio: true });
  assert.deepEqual(await facts(path), {
    seconds: 4,
    codec: AV_CODEC_ID_H264,
    format: AV_PIX_FMT_YUV420P,
    framesPerSecond: 24,
    channels: 2,
    samples: 4 * 48_000,
  });
  const seen = await seenFrames(path, [0]);
  assert.equal(seen.count, 96);
  assert.deepEqual([seen.frame(0).width, seen.frame(0).height], [1470, 630]);
});

test('without sound there is no audio track, and the index comes first', async () => {
  const path = await rendered({ width: 834, height: 1112, durationSeconds: 5 });
  const { seconds, channels, samples } = await facts(path);
  assert.deepEqual({ seconds, channels, samples }, { seconds: 5, channels: undefined, samples: 0 });
  const seen = await seenFrames(path, [119]);
  assert.equal(seen.count, 120);
  assert.deepEqual([seen.frame(119).width, seen.frame(119).height], [834, 1112]);
  const bytes = await readFile(path);
  assert.ok(bytes.indexOf('moov') < bytes.indexOf('mdat'));
});

test('the same spec gives the same bytes; another prompt or seed gives others', async () => {
  const same = { generateAudio: true };
  const changed = [same, same, { ...same, seed: 8 }, { ...same, prompt: 'A paper boat' }];
  const videos: Buffer[] = [];
  for (const change of changed) videos.push(await readFile(await rendered(change)));
  const [first, again, otherSeed, otherPrompt] = videos;
  assert.ok(first && again && otherSeed && otherPrompt);
  assert.ok(first.equals(again));
  assert.ok(!first.equals(otherSeed));
  assert.ok(!first.equals(otherPrompt));
});

test('an image-to-video opens on the first image and closes on the last', async () => {
  const firstFramePath = join(folder, 'first.png');
  const lastFramePath = join(folder, 'last.jpg');
  await writeImage(firstFramePath, 333, 500, (x) => (x < 0.5 ? RED : BLUE));
  await writeImage(lastFramePath, 640, 200, (_, y) => (y < 0.5 ? GREEN : RED));
  const path = await rendered({ mode: 'image-to-video', firstFramePath, lastFramePath });
  const seen = await seenFrames(path, [0, 48, 95]);
  assertNear(seen.frame(0).at(0.2, 0.3), RED);
  assertNear(seen.frame(0).at(0.8, 0.7), BLUE);
  assertNear(seen.frame(95).at(0.3, 0.2), GREEN);
  assertNear(seen.frame(95).at(0.8, 0.7), RED);
  assertNear(seen.frame(48).at(0.2, 0.3), [115, 105, 45]);
});

test('without a last image it closes on the pattern', async () => {
  const firstFramePath = join(folder, 'only.png');
  await writeImage(firstFramePath, 500, 300, () => GREEN);
  const pattern = await seenFrames(await rendered(), [95]);
  const seen = await seenFrames(
    await rendered({ mode: 'image-to-video', firstFramePath }),
    [0, 95],
  );
  assertNear(seen.frame(0).at(0.5, 0.5), GREEN);
  assertNear(seen.frame(95).at(0.9, 0.1), pattern.frame(95).at(0.9, 0.1));
});

test('references are shown, the clips playing and starting again', async () => {
  const image = join(folder, 'reference.png');
  const clip = join(folder, 'reference.mp4');
  await writeImage(image, 300, 225, () => BLUE);
  await writeClip(clip, 320, 240, [RED, GREEN]);
  const references = { referenceImagePaths: [image], referenceVideoPaths: [clip] };
  const path = await rendered({ mode: 'media-to-video', ...references });
  const seen = await seenFrames(path, [12, 36, 60, 84]);
  assertNear(seen.frame(12).at(0.27, 0.35), RED);
  assertNear(seen.frame(36).at(0.27, 0.35), GREEN);
  assertNear(seen.frame(60).at(0.27, 0.35), RED);
  assertNear(seen.frame(84).at(0.27, 0.35), GREEN);
  assertNear(seen.frame(84).at(0.73, 0.35), BLUE);
});

const NASTY = [
  `it's "100%" %{localtime} \\n \\' [in];movie=/etc/passwd[out]:text='x', drawbox=c=red\\`,
  'مرحبا שלום 👨‍👩‍👧 🇨🇭 中文 \u202e\u0000\u0007\ud800 e\u0301 \r\n\n\tend\n',
];

test('no prompt breaks the video', async () => {
  for (const prompt of [NASTY.join(' '), '\u200b\n ', 'W'.repeat(4000)]) {
    const { count } = await seenFrames(await rendered({ prompt }), []);
    assert.equal(count, 96, prompt.slice(0, 20));
  }
});

test('an input that is missing or no picture fails, and says which', async () => {
  const path = join(folder, 'never.mp4');
  const missing = spec({ mode: 'image-to-video', firstFramePath: join(folder, 'missing.png') });
  const failed = await renderVideo(missing, path);
  assert.ok(failed.kind === 'failed' && /missing\.png/.test(failed.cause), JSON.stringify(failed));
  const noPicture = spec({ mode: 'media-to-video', referenceVideoPaths: [import.meta.filename] });
  assert.equal((await renderVideo(noPicture, path)).kind, 'failed');
});

test('a render over its time or memory fails', async () => {
  const path = join(folder, 'limited.mp4');
  const slow = await renderVideo(spec(), path, { timeoutSeconds: 0.01 });
  assert.ok(slow.kind === 'failed' && /0\.01 s/.test(slow.cause));
  const large = spec({ width: 3840, height: 2160, durationSeconds: 15 });
  const big = await renderVideo(large, path, { memoryBytes: 64 * 2 ** 20 });
  assert.ok(big.kind === 'failed' && /memory/.test(big.cause), JSON.stringify(big));
});

test('an abort ends the render and its process', {
  skip: process.platform !== 'linux',
}, async () => {
  const path = join(folder, 'aborted.mp4');
  const stop = new AbortController();
  const large = spec({ width: 1920, height: 1080, durationSeconds: 15 });
  const render = renderVideo(large, path, { signal: stop.signal });
  await until(() =>
    stat(path).then(
      (file) => file.size > 0,
      () => false,
    ),
  );
  assert.equal((await children()).length, 1);
  stop.abort();
  assert.deepEqual(await render, { kind: 'aborted' });
  await until(async () => (await children()).length === 0);
});

test('a render aborted before it starts writes nothing', async () => {
  const path = join(folder, 'unborn.mp4');
  const outcome = await renderVideo(spec(), path, { signal: AbortSignal.abort() });
  assert.deepEqual(outcome, { kind: 'aborted' });
  await assert.rejects(stat(path), { code: 'ENOENT' });
});

async function children(): Promise<string[]> {
  const threads = await readdir('/proc/self/task');
  const lists = threads.map((id) => readFile(`/proc/self/task/${id}/children`, 'utf8'));
  const found = await Promise.allSettled(lists);
  return found.flatMap((list) =>
    list.status === 'fulfilled' ? (list.value.match(/\d+/g) ?? []) : [],
  );
}

async function until(condition: () => Promise<boolean>) {
  while (!(await condition())) await delay(20);
}
