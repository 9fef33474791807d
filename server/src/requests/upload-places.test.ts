import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { type Comer, createPlaces } from './upload-places.ts';

let clock = 0;

/** Uploads that begin now, and bring so many bytes. Each is listed when it has ended early. */
function openPlaces() {
  clock = 0;
  const places = createPlaces({ seconds: () => clock });
  const ended: string[] = [];
  const begin = (comer: Comer, arrived: number) =>
    places.run(comer, (place) => {
      const { promise, reject } = Promise.withResolvers<void>();
      const bytes = new PassThrough().on('error', reject);
      Object.assign(place, { bytes, arrived });
      promise.catch(() => ended.push(comer.mailbox));
      return promise;
    });
  /** The reason for which an upload is refused; undefined if it is received. */
  const refusal = (comer: Comer, arrived = 0) =>
    Promise.race([begin(comer, arrived).catch((error) => error.code), settled()]);
  return { refusal, ended };
}

const unpaid = (mailbox: string) => ({ mailbox, isPaying: false });
const paying = (mailbox: string) => ({ mailbox, isPaying: true });
const settled = () => new Promise((resolve) => setImmediate(resolve));

async function fill(places: ReturnType<typeof openPlaces>, arrived: (mailbox: string) => number) {
  for (const mailbox of ['a', 'a', 'a', 'b', 'c', 'd', 'e', 'f']) {
    assert.equal(await places.refusal(unpaid(mailbox), arrived(mailbox)), undefined, mailbox);
  }
}

test('six slow mailboxes do not keep a seventh out: the slowest upload ends', async () => {
  const places = openPlaces();
  await fill(places, (mailbox) => (mailbox === 'd' ? 10 : 1000));
  clock = 1;
  assert.equal(await places.refusal(unpaid('g')), 'service_busy', 'they have only begun');
  clock = 60;
  assert.equal(await places.refusal(unpaid('a')), 'service_busy', 'it has places');
  assert.equal(await places.refusal(unpaid('g')), undefined);
  await settled();
  assert.deepEqual(places.ended, ['d']);
});

test('uploads that are fast keep their places, and two are left for paying customers', async () => {
  const places = openPlaces();
  await fill(places, () => 10_000_000);
  clock = 10;
  assert.equal(await places.refusal(unpaid('g')), 'service_busy');
  assert.equal(await places.refusal(paying('h')), undefined);
  assert.equal(await places.refusal(paying('i')), undefined);
  assert.equal(await places.refusal(paying('j')), 'service_busy');
  clock = 20; // h and i are slow now
  assert.equal(await places.refusal(unpaid('g')), 'service_busy');
  assert.equal(await places.refusal(paying('j')), undefined);
  await settled();
  assert.deepEqual(places.ended, ['h']);
});
