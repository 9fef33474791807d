import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { RenderSpec } from 'local-renderer';
import { renderVideo } from './render.ts';

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

test('an input that is missing or not a picture fails, with its name in the cause', async () => {
  const path = join(folder, 'never.mp4');
  const missing = spec({ mode: 'image-to-video', firstFramePath: join(folder, 'missing.png') });
  const failed = await renderVideo(missing, path);
  assert.ok(failed.kind === 'failed' && /missing\.png/.test(failed.cause), JSON.stringify(failed));
  const noPicture = spec({ mode: 'media-to-video', referenceVideoPaths: [import.meta.filename] });
  assert.equal((await renderVideo(noPicture, path)).kind, 'failed');
});

test('a render that exceeds its time or memory limit fails', async () => {
  const path = join(folder, 'limited.mp4');
  const slow = await renderVideo(spec(), path, { timeoutSeconds: 0.01 });
  assert.ok(slow.kind === 'failed' && /0\.01 s/.test(slow.cause));
  const large = spec({ width: 3840, height: 2160, durationSeconds: 15 });
  const big = await renderVideo(large, path, { memoryBytes: 64 * 2 ** 20 });
  assert.ok(big.kind === 'failed' && /memory/.test(big.cause), JSON.stringify(big));
});

test('an abort ends the render and its child process', {
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
  assert.equal((await renders()).length, 1);
  stop.abort();
  assert.deepEqual(await render, { kind: 'aborted' });
  await until(async () => (await renders()).length === 0);
});

test('a render aborted before it starts writes nothing', async () => {
  const path = join(folder, 'aborted-early.mp4');
  const outcome = await renderVideo(spec(), path, { signal: AbortSignal.abort() });
  assert.deepEqual(outcome, { kind: 'aborted' });
  await assert.rejects(stat(path), { code: 'ENOENT' });
});

/** The command lines of the children that render: another file of this process may have others. */
async function renders(): Promise<string[]> {
  const threads = await readdir('/proc/self/task');
  const lists = await readAll(threads.map((id) => `/proc/self/task/${id}/children`));
  const pids = lists.flatMap((list) => list.match(/\d+/g) ?? []);
  const commands = await readAll(pids.map((pid) => `/proc/${pid}/cmdline`));
  return commands.filter((command) => command.includes('render-child.ts'));
}

/** The texts of those files that are still there. */
async function readAll(paths: string[]): Promise<string[]> {
  const read = await Promise.allSettled(paths.map((path) => readFile(path, 'utf8')));
  return read.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
}

async function until(condition: () => Promise<boolean>) {
  while (!(await condition())) await delay(20);
}
