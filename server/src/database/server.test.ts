import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { openTestDatabase } from '../../test/database.ts';
import { isOneLineAbout } from '../../test/providers/settings.ts';
import type { Database } from './database.ts';
import { requireDurableCommits, requireSameServer, requireServer } from './server.ts';

const database = await openTestDatabase();

/** Replaces text in what passes a proxy. Both texts have the same length. */
interface Rewrite {
  request?: [string, string];
  response?: [string, string];
}

/** Runs the work with the address of a proxy in front of the database. */
async function throughProxy(rewrite: Rewrite, work: (url: string) => Promise<void>) {
  const url = new URL(database.url);
  const { hostname, port } = url;
  const sockets = new Set<Socket>();
  const passOn = (from: Socket, to: Socket, texts: [string, string] = ['', '']) => {
    sockets.add(from);
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
    from.on('data', (bytes) => to.write(bytes.toString('latin1').replace(...texts), 'latin1'));
  };
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname);
    passOn(client, server, rewrite.request);
    passOn(server, client, rewrite.response);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  url.port = String((proxy.address() as AddressInfo).port);
  try {
    await work(url.href);
  } finally {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  }
}

test('Postgres 15 to 18 is accepted, and another version refused with its number', async () => {
  await requireServer(database.url, 'DATABASE_URL');
  const [row] = await database.db.query<{ n: string }>({
    name: '',
    text: `select current_setting('server_version_num') as n`,
  });
  const own = row?.n ?? '';
  for (const [version, isAccepted] of [
    ['150018', true],
    ['140019', false],
    ['190000', false],
  ] as const) {
    await throughProxy({ response: [own, version] }, async (url) => {
      const required = requireServer(url, 'DATABASE_URL');
      if (isAccepted) await required;
      else await assert.rejects(required, /DATABASE_URL is a server of .* Postgres 15 to 18/);
    });
  }
});

test('a pooler that drops startup parameters is recognised', async () => {
  const request: [string, string] = ['statement_timeout', 'pooler.dropped_it'];
  await throughProxy({ request }, async (url) => {
    await assert.rejects(
      requireServer(url, 'DATABASE_URL'),
      /DATABASE_URL is the address of a connection pooler. Set DATABASE_DIRECT_URL to/,
    );
    await assert.rejects(
      requireServer(url, 'DATABASE_DIRECT_URL'),
      /DATABASE_DIRECT_URL is the address of a connection pooler. Set it to/,
    );
  });
});

test('the pooler and the direct address must lead to the same database', async () => {
  await throughProxy({}, (url) => requireSameServer(url, database.url));
  const other = await openTestDatabase();
  const comparing = requireSameServer(database.url, other.url);
  await assert.rejects(comparing, /both must lead to the same database of the same server/);
});

test('a server that can not be reached is named by its variable, without the password', async () => {
  const url = 'postgres://ada:secret@127.0.0.1:1/x';
  await assert.rejects(requireServer(url, 'DATABASE_URL'), (error: Error) => {
    assert.match(error.message, /can't be reached: .*ECONNREFUSED.* Check DATABASE_URL\./);
    return !error.message.includes('secret');
  });
});

test('a file of certificates that is not there is refused in one line', async () => {
  const url = 'postgres://ada@127.0.0.1:1/x?sslmode=verify-full&sslrootcert=/nowhere/ca.pem';
  await assert.rejects(requireServer(url, 'DATABASE_URL'), {
    name: 'UsageError',
    message: /can't be reached: ENOENT.*\/nowhere\/ca\.pem.* Check DATABASE_URL\.$/,
  });
});

/** A database whose server has these settings. */
function serverWith(fsync: string, synchronousCommit: string): Database {
  const row = { fsync, synchronous_commit: synchronousCommit };
  return { query: async () => [row] } as unknown as Database;
}

test('a database that may forget commits is refused, with the setting to change', async () => {
  // The server of the tests runs without fsync.
  const refusal = isOneLineAbout(/fsync is off.*DATABASE_VOLATILE=yes/);
  await assert.rejects(requireDurableCommits(database.db), refusal);
  await assert.rejects(requireDurableCommits(serverWith('on', 'off')), /synchronous_commit is off/);
});

test('a durable database is accepted, with and without synchronous replicas', async () => {
  for (const level of ['local', 'on', 'remote_write', 'remote_apply']) {
    await requireDurableCommits(serverWith('on', level));
  }
});
