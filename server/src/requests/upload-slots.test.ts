import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { uploadBody } from './receive-upload.ts';
import { openUploadSlots, type UploadRequester } from './upload-slots.ts';

let clock = 0;

/** Begins uploads of which `arrived` bytes have come; `ended` names those that lost their slot. */
function openSlots() {
  clock = 0;
  const slots = openUploadSlots({ seconds: () => clock });
  const ended: string[] = [];
  const begin = (requester: UploadRequester, arrived: number) =>
    slots.run(requester, (slot) => {
      const { promise, reject } = Promise.withResolvers<void>();
      const bytes = new PassThrough().on('error', reject);
      Object.assign(slot, { bytes, arrived });
      promise.catch(() => ended.push(requester.holder));
      return promise;
    });
  /** The code of the error that refuses an upload; undefined if it is received. */
  const refusal = (requester: UploadRequester, arrived = 0) =>
    Promise.race([begin(requester, arrived).catch((error) => error.code), settled()]);
  return { refusal, ended };
}

const unpaid = (holder: string) => ({ holder, isPaying: false });
const paying = (holder: string) => ({ holder, isPaying: true });
const settled = () => new Promise((resolve) => setImmediate(resolve));

async function fill(slots: ReturnType<typeof openSlots>, arrived: (holder: string) => number) {
  for (const holder of ['a', 'a', 'a', 'b', 'c', 'd', 'e', 'f']) {
    assert.equal(await slots.refusal(unpaid(holder), arrived(holder)), undefined, holder);
  }
}

test('six slow holders do not keep a seventh out: the slowest upload ends', async () => {
  const slots = openSlots();
  await fill(slots, (holder) => (holder === 'd' ? 10 : 1000));
  clock = 1;
  assert.equal(await slots.refusal(unpaid('g')), 'service_busy', 'they have only begun');
  clock = 60;
  assert.equal(await slots.refusal(unpaid('a')), 'service_busy', 'it has slots');
  assert.equal(await slots.refusal(unpaid('g')), undefined);
  await settled();
  assert.deepEqual(slots.ended, ['d']);
});

test('uploads that are fast keep their slots, and two are left for paying customers', async () => {
  const slots = openSlots();
  await fill(slots, () => 10_000_000);
  clock = 10;
  assert.equal(await slots.refusal(unpaid('g')), 'service_busy');
  assert.equal(await slots.refusal(paying('h')), undefined);
  assert.equal(await slots.refusal(paying('i')), undefined);
  assert.equal(await slots.refusal(paying('j')), 'service_busy');
  clock = 20; // h and i are slow now
  assert.equal(await slots.refusal(unpaid('g')), 'service_busy');
  assert.equal(await slots.refusal(paying('j')), undefined);
  await settled();
  assert.deepEqual(slots.ended, ['h']);
});

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
