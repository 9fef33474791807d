import assert from 'node:assert/strict';
import { test } from 'node:test';
import { videoAmong, viewPath } from './outputs.ts';
import { promptIdOf } from './prompt-id.ts';

const ID = promptIdOf('att_1');

function file(filename: string, type = 'output', subfolder = '') {
  return { filename, subfolder, type };
}

test('videos are found under any name that a node lists them by', () => {
  const video = file('a_00001_.mp4');
  for (const kind of ['images', 'gifs', 'video', 'videos']) {
    const outputs = { '3': { text: ['a cat'] }, '9': { [kind]: [video], animated: [true] } };
    assert.deepEqual(videoAmong(outputs, ID), video);
  }
});

test('a file is a video if its name or its format says so', () => {
  const odd = { ...file('a.bin'), format: 'video/h264-mp4', frame_rate: 24 };
  assert.deepEqual(videoAmong({ '9': { gifs: [odd] } }, ID), file('a.bin'));
  const gif = { ...file('a.gif'), format: 'image/gif' };
  assert.equal(videoAmong({ '9': { gifs: [gif], images: [file('a.png')] } }, ID), undefined);
});

test('a video named after the job is chosen before a saved one, and a saved one before a preview', () => {
  const preview = file('p.mp4', 'temp');
  const saved = file('s.webm');
  const own = file(`${ID}_00001_.mp4`, 'temp', 'framewright');
  const outputs = { '1': { images: [preview, saved] }, '2': { gifs: [own] } };
  assert.deepEqual(videoAmong(outputs, ID), own);
  assert.deepEqual(videoAmong({ '1': outputs['1'] }, ID), saved);
  assert.deepEqual(videoAmong({ '1': { images: [preview] } }, ID), preview);
});

test('outputs that are malformed or hold no files have no video', () => {
  for (const outputs of [null, undefined, 'a.mp4', [], { '9': null }, { '9': { a: ['b.mp4'] } }]) {
    assert.equal(videoAmong(outputs, ID), undefined);
  }
});

test('a file name can’t change the request', () => {
  assert.equal(
    viewPath(file('a&type=input b.mp4', 'output', 'x/y')),
    '/view?filename=a%26type%3Dinput+b.mp4&subfolder=x%2Fy&type=output',
  );
});
