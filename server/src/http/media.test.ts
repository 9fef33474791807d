import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../test/app.ts';
import { assertError } from '../../test/envelope.ts';
import { recordingLog } from '../../test/recording-log.ts';
import { linkTo, storedLink } from '../../test/storage/stored-link.ts';
import { newId } from '../kernel/ids.ts';
import type { ObjectRole } from '../storage/objects.ts';

const BYTES = Buffer.from(Array.from({ length: 1000 }, (_, index) => index % 251));
const DELIVERY_SECONDS = 60;

const api = await openTestApp({ deliverySeconds: DELIVERY_SECONDS });

const store = async (role?: ObjectRole, isReady = true) =>
  (await storedLink(api, BYTES, role, { isReady })).link;

async function fetchMedia(link: string, headers: Record<string, string> = {}, method = 'GET') {
  const response = await fetch(link, { headers, method });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: Object.fromEntries(response.headers), bytes };
}

async function assertRefused(link: string, code: string, headers = {}): Promise<void> {
  const { status, headers: given, bytes } = await fetchMedia(link, headers);
  assertError({ status, headers: given, body: JSON.parse(bytes.toString()) }, code);
}

test('a range gets 206 and its bytes, from the start, the middle or the end', async () => {
  const link = await store();
  for (const [range, first, last] of [
    ['bytes=0-0', 0, 0],
    ['bytes=0-', 0, 999],
    ['bytes=100-199', 100, 199],
    ['bytes=990-5000', 990, 999],
    ['bytes=-1', 999, 999],
    ['bytes=-5000', 0, 999],
    ['bytes=999-', 999, 999],
  ] as const) {
    const { status, headers, bytes } = await fetchMedia(link, { range });
    assert.equal(status, 206, range);
    assert.deepEqual(bytes, BYTES.subarray(first, last + 1), range);
    assert.equal(headers['content-range'], `bytes ${first}-${last}/1000`);
    assert.equal(headers['content-length'], String(last - first + 1));
    const head = await fetchMedia(link, { range }, 'HEAD');
    assert.deepEqual([head.status, head.bytes.length], [206, 0]);
    assert.equal(head.headers['content-range'], headers['content-range']);
  }
});

test('a range after the end is 416 with the size of the file', async () => {
  const link = await store();
  for (const range of ['bytes=1000-', 'bytes=1000-1001', 'bytes=99999999999999-', 'bytes=-0']) {
    const { status, headers } = await fetchMedia(link, { range });
    assert.equal(status, 416, range);
    assert.equal(headers['content-range'], 'bytes */1000');
    await assertRefused(link, 'range_not_satisfiable', { range });
  }
});

test('several ranges, other units and malformed ranges get the whole file', async () => {
  const link = await store();
  const ranges = ['bytes=0-1,5-6', 'lines=0-1', 'bytes=5-2', 'bytes=-', 'bytes=a-b', 'x', ''];
  for (const range of ranges) {
    const { status, bytes } = await fetchMedia(link, { range });
    assert.deepEqual([status, bytes.length], [200, 1000], range);
  }
});

test('If-Range returns the part if the file is the same, else the whole file', async () => {
  const link = await store();
  const { headers } = await fetchMedia(link);
  const range = 'bytes=1-2';
  const same = await fetchMedia(link, { range, 'if-range': String(headers.etag) });
  assert.deepEqual([same.status, same.bytes.length], [206, 2]);
  for (const other of ['"another"', 'Wed, 21 Oct 2015 07:28:00 GMT']) {
    const whole = await fetchMedia(link, { range, 'if-range': other });
    assert.deepEqual([whole.status, whole.bytes.length], [200, 1000]);
  }
});

test('a link with a missing, repeated or added part, or for another object, is 403', async () => {
  const link = await store();
  const { pathname, search, searchParams } = new URL(link);
  const signature = `signature=${searchParams.get('signature')}`;
  const later = search.replace(/expires=\d+/, 'expires=99999999999');
  for (const forged of [
    pathname,
    `${pathname}?${signature}`,
    pathname + search.replace(/&signature=.*/, ''),
    pathname + later,
    `${pathname}${search}&${signature}`,
    `${pathname}${search}&expires=99999999999`,
    `${pathname}${search}=`,
    `${pathname}${search}%00`,
    `/media/${newId('object')}.mp4${search}`,
    `/media/..%2f..%2fetc%2fpasswd${search}`,
    `/media/%zz${search}`,
  ]) {
    await assertRefused(api.url + forged, 'link_invalid');
  }
});

test('only outputs and inputs that are ready can be downloaded, even by a signed link', async () => {
  assert.equal((await fetchMedia(await store('input'))).status, 200); // providers download inputs
  await assertRefused(await store('render'), 'link_invalid');
  await assertRefused(await store('output', false), 'link_invalid');
  await assertRefused(await linkTo(api, newId('object')), 'link_invalid');
});

test('an expired link is 410, and a new link to the same file works', async () => {
  const { id, link } = await storedLink(api, BYTES);
  await api.database.setClock(DELIVERY_SECONDS - 10);
  assert.equal((await fetchMedia(link)).status, 200);
  await api.database.setClock(DELIVERY_SECONDS + 2);
  await assertRefused(link, 'link_expired');
  assert.equal((await fetchMedia(await linkTo(api, id))).status, 200);
  await api.database.setClock(0);
});

test('a file that vanished although its row is ready is said to be missing, and logged', async () => {
  const { id, link } = await storedLink(api, BYTES);
  await api.deps.storage.delete(id);
  const { log, lines } = recordingLog();
  const before = api.deps.log;
  api.deps.log = log;
  try {
    await assertRefused(link, 'file_missing');
    await assertRefused(link, 'file_missing', { range: 'bytes=0-9' });
    assert.equal((await fetchMedia(link, {}, 'HEAD')).status, 410);
  } finally {
    api.deps.log = before;
  }
  const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
  assert.deepEqual(
    errors.map(({ object, role, msg }) => [object, role, msg]),
    Array(3).fill([id, 'output', 'a file has vanished from the storage']),
  );
});
