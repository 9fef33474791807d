import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { type Answer, startDnsServer } from '../../test/dns-server.ts';
import { ByteBudget } from './byte-budget.ts';
import { createGuardedFetch } from './guarded-fetch.ts';
import {
  createDnsLookup,
  createLookupLimiter,
  createSystemLookup,
  type LookupLimits,
} from './host-lookup.ts';
import { OutboundError } from './refusal.ts';

const NAMES: Record<string, Answer> = {
  'both.example.com': { a: ['8.8.8.8', '8.8.4.4'], aaaa: ['2001:4860:4860::8888'] },
  'only4.example.com': { a: ['8.8.8.8'] },
  'only6.example.com': { aaaa: ['2001:4860:4860::8888'] },
  'alias.example.com': { cname: 'both.example.com', a: ['8.8.8.8'] },
  'half.example.com': { silent: ['AAAA'], a: ['8.8.8.8'] },
  'empty.example.com': {},
  'failing.example.com': { failure: 'servfail' },
  'refused.example.com': { failure: 'refused' },
  'silent.example.com': { silent: 'all' },
  'private.example.com': { a: ['10.0.0.1'] },
  'host-file.example.com': { a: ['8.8.8.8'] },
};

const server = await startDnsServer((name) => NAMES[name]);
after(() => server.close());

async function addresses(host: string, servers = [server.address]): Promise<string[]> {
  const found = await createDnsLookup(servers)(host, AbortSignal.timeout(20_000));
  return found.map(({ address, family }) => `${family} ${address}`);
}

async function refusal(url: string, connectTimeoutSeconds = 10): Promise<string> {
  const guardedFetch = createGuardedFetch({
    allow: new Set(),
    dnsServers: [server.address],
    connectTimeoutSeconds,
  });
  try {
    await guardedFetch.download(url, { budget: new ByteBudget(1) });
    return assert.fail('not refused');
  } catch (error) {
    assert.ok(error instanceof OutboundError, String(error));
    return `${error.reason}: ${error.message}`;
  } finally {
    await guardedFetch.close();
  }
}

test('a look-up gives the addresses of both families, also through an alias', async () => {
  assert.deepEqual(await addresses('both.example.com'), [
    '4 8.8.8.8',
    '4 8.8.4.4',
    '6 2001:4860:4860::8888',
  ]);
  assert.deepEqual(await addresses('only4.example.com'), ['4 8.8.8.8']);
  assert.deepEqual(await addresses('only6.example.com'), ['6 2001:4860:4860::8888']);
  assert.deepEqual(await addresses('alias.example.com'), ['4 8.8.8.8']);
});

test('a name server that never responds for one family does not refuse the other', async () => {
  assert.deepEqual(await addresses('half.example.com'), ['4 8.8.8.8']);
});

test('each failure of DNS has its public reason', async () => {
  const unresolved = 'not_reachable: The host name could not be resolved';
  for (const host of ['missing', 'empty', 'failing', 'refused', 'a'.repeat(64)]) {
    assert.equal(await refusal(`https://${host}.example.com/`), unresolved, host);
  }
  const late = 'too_slow: The host name was not resolved in time';
  assert.equal(await refusal('https://silent.example.com/', 0.3), late);
  const notPublic = 'not_public: The host does not have a public address';
  assert.equal(await refusal('https://private.example.com/'), notPublic);
});

test('when no DNS server listens, the name is not resolved and the host was not refused', async () => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  await new Promise((resolve) => socket.close(() => resolve(undefined)));
  const looking = addresses('both.example.com', [`127.0.0.1:${port}`]);
  await assert.rejects(looking, /could not be resolved/);
});

test('search domains are not tried', async () => {
  const { length } = server.queries;
  await refusal('https://redis.default/');
  assert.deepEqual(server.queries.slice(length).sort(), ['A redis.default', 'AAAA redis.default']);
});

test('an aborted look-up ends at once', async () => {
  const stop = new AbortController();
  const looking = createDnsLookup([server.address])('silent.example.com', stop.signal);
  const ended = assert.rejects(looking);
  stop.abort();
  await ended;
});

test('the system’s resolver reads the hosts file, and is asked once for the same name', async () => {
  const resolve = createSystemLookup();
  const { signal } = new AbortController();
  const first = resolve('localhost', signal);
  assert.equal(resolve('localhost', signal), first);
  const texts = (await first).map(({ address }) => address);
  assert.ok(texts.every((address) => ['127.0.0.1', '::1'].includes(address)));
  await new Promise(setImmediate);
  assert.notEqual(resolve('localhost', signal), first);
});

/** Starts look-ups that end only when the test ends them, and records the order of their starts. */
function rig(limits: Partial<LookupLimits>) {
  const many = { overall: 100, perAccount: 100, perRequest: 100 };
  const limiter = createLookupLimiter({ ...many, ...limits });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    started,
    async lookUp(name: string) {
      const [account = '', request = ''] = name.split(' ');
      const client = name === 'provider' ? undefined : { accountId: account, taskId: request };
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      void limiter.run(client, new AbortController().signal, () => {
        started.push(name);
        return promise;
      });
      await settle();
    },
    async end(name: string) {
      ends.get(name)?.();
      await settle();
    },
  };
}

test('a request and an account wait at their limits, and do not delay others', async () => {
  const { started, lookUp, end } = rig({ perAccount: 3, perRequest: 2 });
  for (const file of ['1', '2', '3']) await lookUp(`ada task1 ${file}`);
  for (const file of ['1', '2']) await lookUp(`ada task2 ${file}`);
  await lookUp('bob task3 1');
  assert.deepEqual(started, ['ada task1 1', 'ada task1 2', 'ada task2 1', 'bob task3 1']);
  await end('ada task2 1');
  assert.deepEqual(started.slice(4), ['ada task2 2'], 'task1 is at the limit of a request');
  await end('ada task1 1');
  assert.deepEqual(started.slice(5), ['ada task1 3']);
});

test('at the overall limit the account with the fewest look-ups is next', async () => {
  const { started, lookUp, end } = rig({ overall: 3 });
  for (const file of ['1', '2', '3', '4', '5']) await lookUp(`ada task1 ${file}`);
  await lookUp('bob task2 1');
  await lookUp('provider');
  await end('ada task1 1');
  await end('ada task1 2');
  await end('ada task1 3');
  assert.deepEqual(started.slice(3), ['bob task2 1', 'provider', 'ada task1 4']);
});
