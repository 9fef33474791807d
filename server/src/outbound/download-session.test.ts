import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openDownloads } from '../../test/media/downloads.ts';
import { startMediaHost } from '../../test/media/media-host.ts';
import { ByteBudget } from './byte-budget.ts';
import type { DownloadOptions } from './download.ts';

const { host, open } = await openDownloads();
host.serve('/endless', { kind: 'endless' });
host.serve('/stall', { kind: 'stall' });
const guardedFetch = open();

function optionsWith(options: Partial<DownloadOptions> = {}): DownloadOptions {
  return { budget: new ByteBudget(Number.POSITIVE_INFINITY), ...options };
}

async function readToEnd(body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of body);
}

test('an abort before the headers rejects with its reason and closes the connection', async () => {
  const stop = new AbortController();
  const path = '/stall?abort';
  const download = guardedFetch.download(host.url(path), optionsWith({ signal: stop.signal }));
  const outcome = assert.rejects(download, new Error('enough'));
  await host.requested(path);
  stop.abort(new Error('enough'));
  await outcome;
  await host.idle();
});

test('an abort in the body rejects the read with its reason and closes the connection', async () => {
  const stop = new AbortController();
  const options = optionsWith({ signal: stop.signal });
  const body = await guardedFetch.download(host.url('/endless'), options);
  const reading = (async () => {
    for await (const _ of body) stop.abort(new Error('enough'));
  })();
  await assert.rejects(reading, new Error('enough'));
  await host.idle();
});

test('an abort before the start opens no connection', async () => {
  const before = host.connectionCount();
  const signal = AbortSignal.abort(new Error('enough'));
  const download = guardedFetch.download(host.url('/endless'), optionsWith({ signal }));
  await assert.rejects(download, new Error('enough'));
  assert.equal(host.connectionCount(), before);
});

test('an abort while the host is resolved rejects at once', async () => {
  const stop = new AbortController();
  const asked = Promise.withResolvers<void>();
  const resolve = () => {
    asked.resolve();
    return new Promise<never>(() => {});
  };
  const options = optionsWith({ signal: stop.signal });
  const download = open({ resolve }, '').download('https://media.test/', options);
  const outcome = assert.rejects(download, new Error('enough'));
  await asked.promise;
  stop.abort(new Error('enough'));
  await outcome;
});

test('at the deadline the connection of an unread body is closed, and a late read rejects', async () => {
  const options = optionsWith({ deadlineSeconds: 1.5 });
  const body = await guardedFetch.download(host.url('/endless'), options);
  await host.idle();
  await assert.rejects(readToEnd(body), { reason: 'too_slow' });
});

test('a finished download leaves no listener on the caller’s signal', async () => {
  const url = host.serve('/a.png', { kind: 'bytes', bytes: Buffer.alloc(3) });
  const { signal } = new AbortController();
  await readToEnd(await guardedFetch.download(url, optionsWith({ signal })));
  assert.deepEqual(getEventListeners(signal, 'abort'), []);
});

test('close ends every download and refuses new ones', async () => {
  const closing = open();
  const stalled = closing.download(host.url('/stall?close'), optionsWith());
  const outcome = assert.rejects(stalled, { name: 'AbortError' });
  const unread = await closing.download(host.url('/endless'), optionsWith());
  await host.requested('/stall?close');
  await closing.close();
  await outcome;
  await assert.rejects(readToEnd(unread), { name: 'AbortError' });
  await assert.rejects(closing.download(host.url('/stall'), optionsWith()), { name: 'AbortError' });
  await host.idle();
});

test('the connection is read only as fast as the caller reads the body', async (t) => {
  const plain = await startMediaHost({ tls: false });
  t.after(plain.close);
  const url = plain.serve('/endless', { kind: 'endless' });
  const options = optionsWith({ plainHttpWhereAllowed: true });
  const body = await open({}, `localhost:${plain.port}`).download(url, options);
  for await (const _ of body) {
    const sentBytes = await steady(() => plain.sentBytes(), 64_000_000);
    assert.ok(sentBytes < 64_000_000, `${sentBytes} bytes were read`);
    break;
  }
});

/** Polls a growing number until it is the same for 20 reads or exceeds the limit. */
async function steady(read: () => number, limit: number): Promise<number> {
  let last = read();
  for (let reads = 0; reads < 20 && last < limit; reads += 1) {
    await delay(10);
    if (read() !== last) reads = 0;
    last = read();
  }
  return last;
}
