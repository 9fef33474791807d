import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type MediaHost, startMediaHost } from '../../test/media/media-host.ts';
import { TEST_CA_FILE } from '../../test/tls/certificates.ts';
import { parseAllowList } from './addresses.ts';
import { ByteBudget } from './byte-budget.ts';
import { createGuardedFetch, type DownloadOptions, type GuardedFetch } from './guarded-fetch.ts';
import { OutboundError } from './refusal.ts';

let host: MediaHost;
let ca: string;
let guardedFetch: GuardedFetch;

before(async () => {
  ca = await readFile(TEST_CA_FILE, 'utf8');
  host = await startMediaHost();
  host.serve('/endless', { kind: 'endless' });
  host.serve('/stall', { kind: 'stall' });
  guardedFetch = openDoor(host);
});

after(async () => {
  await guardedFetch.close();
  await host.close();
});

function openDoor(to: MediaHost): GuardedFetch {
  return createGuardedFetch({ allow: parseAllowList(`localhost:${to.port}`), ca });
}

function wishes(options: Partial<DownloadOptions> = {}): DownloadOptions {
  return { budget: new ByteBudget(Number.POSITIVE_INFINITY), ...options };
}

async function drain(body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of body);
}

test('leaving the body early closes the connection', async () => {
  const { body } = await guardedFetch.download(host.url('/endless'), wishes());
  for await (const chunk of body) {
    assert.ok(chunk.length > 0);
    break;
  }
  await host.idle();
});

test('an abort while headers are awaited rejects with its reason and closes the connection', async () => {
  const stop = new AbortController();
  const path = '/stall?abort';
  const attempt = guardedFetch.download(host.url(path), wishes({ signal: stop.signal }));
  const outcome = assert.rejects(attempt, new Error('enough'));
  await host.requested(path);
  stop.abort(new Error('enough'));
  await outcome;
  await host.idle();
});

test('an abort in mid-body ends the reading with its reason and closes the connection', async () => {
  const stop = new AbortController();
  const { body } = await guardedFetch.download(
    host.url('/endless'),
    wishes({ signal: stop.signal }),
  );
  const reading = (async () => {
    for await (const _ of body) stop.abort(new Error('enough'));
  })();
  await assert.rejects(reading, new Error('enough'));
  await host.idle();
});

test('an abort before the start connects to nothing', async () => {
  const before = host.connectionCount();
  const signal = AbortSignal.abort(new Error('enough'));
  const attempt = guardedFetch.download(host.url('/endless'), wishes({ signal }));
  await assert.rejects(attempt, new Error('enough'));
  assert.equal(host.connectionCount(), before);
});

test('an abort during the look-up is heard at once', async () => {
  const stop = new AbortController();
  const asked = Promise.withResolvers<void>();
  const resolve = () => {
    asked.resolve();
    return new Promise<never>(() => {});
  };
  const waiting = createGuardedFetch({ allow: parseAllowList(''), resolve });
  const attempt = waiting.download('https://media.test/', wishes({ signal: stop.signal }));
  const outcome = assert.rejects(attempt, new Error('enough'));
  await asked.promise;
  stop.abort(new Error('enough'));
  await outcome;
});

test('a body that nobody reads is given up at the deadline, and a late reader hears why', async () => {
  const { body } = await guardedFetch.download(
    host.url('/endless'),
    wishes({ deadlineSeconds: 1.5 }),
  );
  await host.idle();
  const late = (error: unknown) => error instanceof OutboundError && error.reason === 'too_slow';
  await assert.rejects(drain(body), late);
});

test('a finished download leaves no listener behind on the signal of the caller', async () => {
  const url = host.serve('/a.png', { kind: 'bytes', bytes: Buffer.alloc(3) });
  const listened: string[] = [];
  const { signal } = new AbortController();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (type: string, listener: EventListener) => {
    listened.push(type);
    add(type, listener);
  };
  signal.removeEventListener = (type: string, listener: EventListener) => {
    listened.pop();
    remove(type, listener);
  };
  await drain((await guardedFetch.download(url, wishes({ signal }))).body);
  assert.deepEqual(listened, []);
});

test('close ends every download, whatever it waits for, and refuses new ones', async () => {
  const closing = openDoor(host);
  const stalled = closing.download(host.url('/stall?close'), wishes());
  const outcome = assert.rejects(stalled, { name: 'AbortError' });
  const unread = await closing.download(host.url('/endless'), wishes());
  await host.requested('/stall?close');
  await closing.close();
  await outcome;
  await assert.rejects(drain(unread.body), { name: 'AbortError' });
  await assert.rejects(closing.download(host.url('/stall'), wishes()), { name: 'AbortError' });
  await host.idle();
});

test('a host is not read from faster than the body is', async (t) => {
  const plain = await startMediaHost({ tls: false });
  t.after(plain.close);
  const url = plain.serve('/endless', { kind: 'endless' });
  const options = wishes({ plainHttpWhereAllowed: true });
  const { body } = await openDoor(plain).download(url, options);
  for await (const _ of body) {
    const sentBytes = await steady(() => plain.sentBytes(), 64_000_000);
    assert.ok(sentBytes < 64_000_000, `${sentBytes} bytes were taken in`);
    break;
  }
});

/** Polls a growing number until it stands still for 20 looks or has passed the limit. */
async function steady(read: () => number, limit: number): Promise<number> {
  let last = read();
  for (let looks = 0; looks < 20 && last < limit; looks += 1) {
    await delay(10);
    if (read() !== last) looks = 0;
    last = read();
  }
  return last;
}

test('memory stays flat over an endless body, up to a budget of 50 MB', async () => {
  const budget = new ByteBudget(50_000_000);
  const { body } = await guardedFetch.download(host.url('/endless'), wishes({ budget }));
  const start = await retainedBytes();
  let most = 0;
  let looked = 0;
  const reading = (async () => {
    for await (const _ of body) {
      if (budget.usedBytes < looked) continue;
      looked += 5_000_000;
      most = Math.max(most, await retainedBytes());
    }
  })();
  const over = (error: unknown) => error instanceof OutboundError && error.reason === 'too_large';
  await assert.rejects(reading, over);
  assert.ok(budget.usedBytes < 50_100_000);
  assert.ok(most - start < 8_000_000, `${most - start} bytes more were held`);
});

async function retainedBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  await setImmediate();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
