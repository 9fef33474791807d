import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusOfJob } from './job.ts';
import { videoAmong, viewPath } from './outputs.ts';
import { promptIdOf } from './prompt-id.ts';

const ID = promptIdOf('att_1');
const SAVED = { filename: 'video_00001_.mp4', subfolder: 'day', type: 'output' };
const OUTPUTS = { '9': { images: [SAVED], animated: [true] } };
const OUT_OF_MEMORY = {
  prompt_id: ID,
  node_id: '7',
  node_type: 'KSampler',
  executed: [],
  exception_message: 'Allocation on device 0 would exceed allowed memory.\n',
  exception_type: 'torch.OutOfMemoryError',
  traceback: ['  File "/opt/ComfyUI/execution.py", line 349, in execute\n'],
};
const FAILED = {
  kind: 'failed',
  code: 'provider_failed',
  message: 'The provider could not make this video.',
  billed: false,
} as const;
const OUT_OF_MEMORY_CAUSE =
  'torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (KSampler)';

function job(status: string, more: Record<string, unknown> = {}) {
  return statusOfJob({ id: ID, status, priority: 4, workflow: {}, ...more }, ID);
}

test('/api/jobs: a completed job has its video, a failed job its cause', () => {
  assert.deepEqual(job('completed', { outputs: OUTPUTS }), { kind: 'succeeded', output: SAVED });
  assert.deepEqual(job('failed', { execution_error: OUT_OF_MEMORY }), {
    ...FAILED,
    cause: OUT_OF_MEMORY_CAUSE,
  });
  assert.deepEqual(job('cancelled'), { ...FAILED, cause: 'interrupted at the server' });
});

test('a job that succeeded without a video has failed', () => {
  const image = { filename: 'frame_00001_.png', subfolder: '', type: 'output' };
  const cause = 'the workflow saved no video';
  assert.deepEqual(job('completed', { outputs: { '9': { images: [image] } } }), {
    ...FAILED,
    cause,
  });
  assert.deepEqual(job('completed', { outputs: null }), { ...FAILED, cause });
});

test('/api/jobs: a response about another job or in another format gives no status', () => {
  assert.equal(statusOfJob({ id: promptIdOf('att_2'), status: 'completed' }, ID), undefined);
  assert.equal(statusOfJob({ status: 'completed' }, ID), undefined);
  assert.equal(statusOfJob('<html>', ID), undefined);
});

function file(filename: string, type = 'output', subfolder = '') {
  return { filename, subfolder, type };
}

test('the result is a video by its name or format: of the job, else saved, else a preview', () => {
  const [preview, saved] = [file('p.mp4', 'temp'), file('s.webm')];
  const own = file(`${ID}_00001_.mp4`, 'temp', 'framewright');
  const odd = { ...file('a.bin'), format: 'video/h264-mp4', frame_rate: 24 };
  const gif = { ...file('a.gif'), format: 'image/gif' };
  const listed = ['images', 'gifs', 'video', 'videos'].map((kind): [unknown, object] => {
    return [{ '3': { text: ['a cat'] }, '9': { [kind]: [saved], animated: [true] } }, saved];
  });
  const cases: [outputs: unknown, video?: object][] = [
    ...listed,
    [{ '1': { images: [preview, saved] }, '2': { gifs: [own] } }, own],
    [{ '1': { images: [preview, saved] } }, saved],
    [{ '1': { images: [preview] } }, preview],
    [{ '9': { gifs: [odd] } }, file('a.bin')],
    [{ '9': { gifs: [gif], images: [file('a.png')] } }],
    [null],
    [undefined],
    ['a.mp4'],
    [[]],
    [{ '9': null }],
    [{ '9': { a: ['b.mp4'] } }],
  ];
  for (const [outputs, video] of cases) {
    assert.deepEqual(videoAmong(outputs, ID), video, JSON.stringify(outputs));
  }
});

test('a file name can’t change the request', () => {
  const path = viewPath(file('a&type=input b.mp4', 'output', 'x/y'));
  assert.equal(path, '/view?filename=a%26type%3Dinput+b.mp4&subfolder=x%2Fy&type=output');
});
