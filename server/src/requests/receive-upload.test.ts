import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { uploadBody } from './receive-upload.ts';

test('an upload survives a suspension of the process', async () => {
  const body = new PassThrough();
  const passed = uploadBody(body, { bytes: 5, seconds: 0.2 });
  setTimeout(() => body.end('arrived'), 300); // due after the timer of the rate
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
  assert.equal(await text(passed), 'arrived');
});

test('a body that is destroyed without an error ends its upload at once', async () => {
  const early = new Readable({ read() {} });
  early.destroy();
  const late = new Readable({ read() {} });
  setImmediate(() => late.destroy());
  for (const body of [early, late]) {
    const passed = uploadBody(body, { bytes: 1, seconds: 1 });
    await assert.rejects(text(passed), { code: 'ERR_STREAM_PREMATURE_CLOSE' });
  }
});
