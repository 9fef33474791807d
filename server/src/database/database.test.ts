import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openTestDatabase, POOLER_STATEMENTS, quiet } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { until } from '../../test/until.ts';
import { followDatabaseClock } from './clock.ts';
import {
  DatabaseUnavailable,
  isDatabaseUnavailable,
  namedStatement,
  openDatabase,
  type Queryable,
  statement,
  type Transaction,
  together,
  violatedConstraint,
} from './database.ts';
import { jsonText } from './json-text.ts';

const ADD = statement('test_add', 'insert into counted (n) values ($1)');
const SUM = statement('test_sum', 'select coalesce(sum(n), 0)::bigint as total from counted');

const database = await openTestDatabase();
const { db } = database;
await sql(db, 'create table counted (n bigint not null unique, constraint small check (n < 1e15))');

async function total(through: Queryable = db): Promise<number | undefined> {
  const [row] = await through.query<{ total: number }>(SUM);
  return row?.total;
}

test('a transaction commits all of its statements, and rolls all back when its work throws', async () => {
  await db.transaction(async (tx) => {
    await tx.query(ADD, [1]);
    await tx.query(ADD, [2]);
    assert.equal(await total(), 0, 'other connections do not see them yet');
  });
  assert.equal(await total(), 3);
  const failing = db.transaction(async (tx) => {
    await tx.query(ADD, [4]);
    throw new Error('changed my mind');
  });
  await assert.rejects(failing, /changed my mind/);
  assert.equal(await total(), 3);
});

test('a transaction is rolled back, and throws, if its work ignored a failed statement', async () => {
  const before = await total();
  const ignoring = db.transaction(async (tx) => {
    await tx.query(ADD, [15]);
    await tx.query(ADD, [15]).catch(() => {});
  });
  await assert.rejects(ignoring, /rolled back/);
  assert.equal(await total(), before);
});

test('a read-only server is unavailable', async () => {
  const writing = db.transaction(async (tx) => {
    await tx.query({ name: '', text: 'set transaction read only' });
    await tx.query(ADD, [16]);
  });
  await assert.rejects(writing, isDatabaseUnavailable);
});

test('a transaction that sends nothing for too long is unavailable, and its locks are free', async () => {
  const idle = db.transaction(async (tx) => {
    await tx.query({ name: '', text: `set idle_in_transaction_session_timeout = '50ms'` });
    await tx.query(ADD, [17]);
    await delay(500);
    await tx.query(SUM);
  });
  await assert.rejects(idle, isDatabaseUnavailable);
  await db.query(ADD, [17]);
});

test('a commit waits for the disk, also when the role asks for less', async () => {
  const [{ role = '' } = {}] = await sql<{ role: string }>(db, 'select current_user as role');
  const name = new URL(database.url).pathname.slice(1);
  const set = `alter role ${role} in database ${name} set synchronous_commit = off`;
  await db.query({ name: '', text: set });
  const own = openDatabase({ url: database.url, connections: 1, log: quiet });
  const rows = await own.query({ name: '', text: 'show synchronous_commit' });
  assert.deepEqual(rows, [{ synchronous_commit: 'on' }]);
  await own.close();
});

test('the statements of a snapshot see the same rows and cannot write', async () => {
  await db.snapshot(async (tx) => {
    const before = await total(tx);
    await db.query(ADD, [10]);
    assert.equal(await total(tx), before);
  });
  const adding = db.snapshot((tx) => tx.query(ADD, [11]));
  await assert.rejects(adding, { code: '25006' });
});

test('statements sent together run in order, and the first failure is thrown', async () => {
  const before = await total();
  await db.transaction((tx) => together(tx.query(ADD, [20]), tx.query(ADD, [21])));
  assert.equal(await total(), (before ?? 0) + 41);
  const failing = db.transaction((tx) =>
    together(tx.query(ADD, [22]), tx.query(ADD, [20]), tx.query(ADD, [1e15]), total(tx)),
  );
  await assert.rejects(failing, { constraint: 'counted_n_key' });
  assert.equal(await total(), (before ?? 0) + 41);
});

test('a violated constraint is reported by its name, other failures are not', async () => {
  const violationOf = (text: string) =>
    sql(db, text).then(() => 'nothing failed', violatedConstraint);
  assert.equal(await violationOf('insert into counted (n) values (1)'), 'counted_n_key');
  assert.equal(await violationOf('insert into counted (n) values (1e15)'), 'small');
  assert.equal(await violationOf('select * from nowhere'), undefined);
  assert.equal(violatedConstraint(new Error('other')), undefined);
});

test('work on a lost connection fails, and the pool opens a new connection', async () => {
  const narrow = openDatabase({ url: database.url, connections: 1, log: quiet });
  const pid = statement('test_pid', 'select pg_backend_pid() as pid');
  const lost = narrow.transaction(async (tx) => {
    const [row] = await tx.query<{ pid: number }>(pid);
    await db.query({ name: '', text: 'select pg_terminate_backend($1)' }, [row?.pid]);
    await tx.query(SUM);
  });
  await assert.rejects(lost, isDatabaseUnavailable);
  const rows = await until(
    () => narrow.query(pid).catch(() => []),
    (found) => found.length === 1,
  );
  assert.equal(rows.length, 1);
  await narrow.close();
});

test('a killed database is unavailable to running statements and to later ones', async () => {
  const target = new URL(database.url);
  const sockets: Socket[] = [];
  const proxy = createServer((client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port) });
    for (const socket of [client, upstream]) sockets.push(socket.on('error', () => {}));
    client.pipe(upstream).pipe(client);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(target);
  url.port = String((proxy.address() as AddressInfo).port);
  const killed = openDatabase({ url: url.href, connections: 2, log: quiet });
  const sleeping = killed.transaction(async (tx) => {
    await tx.query(SUM);
    const statements = [tx.query({ name: '', text: 'select pg_sleep(60)' }), tx.query(SUM)];
    proxy.close();
    for (const socket of sockets) socket.destroy();
    for (const result of await Promise.allSettled(statements)) {
      assert.ok(result.status === 'rejected');
      assert.ok(result.reason instanceof DatabaseUnavailable, String(result.reason));
    }
    await tx.query(SUM); // pg: "Client has encountered a connection error and is not queryable"
  });
  await assert.rejects(sleeping, unavailable(/terminated unexpectedly|not queryable/));
  await assert.rejects(killed.query(SUM), unavailable(/ECONNREFUSED/));
  await killed.close();
});

test('an error of the statement itself does not mean an unavailable database', async () => {
  const faults: Array<[work: () => Promise<unknown>, expected: RegExp]> = [
    [() => db.query({ name: '', text: 'select 1 / 0' }), /division by zero/],
    [() => db.query({ name: '', text: 'select $1::jsonb' }, [{ n: 1n }]), /BigInt/],
    [() => db.transaction((tx) => tx.query(ADD, [{ toJSON: failToSerialise }])), /connections/],
  ];
  if (POOLER_STATEMENTS === 'named') {
    faults.push([() => db.transaction(reuseName), /must be unique/]);
  }
  for (const [work, expected] of faults) {
    await assert.rejects(work, (error) => {
      assert.match(String(error), expected);
      return !isDatabaseUnavailable(error);
    });
  }
  assert.equal(isDatabaseUnavailable(new TypeError('no connections to read')), false);
});

async function reuseName(tx: Transaction) {
  await tx.query(SUM);
  await tx.query({ name: SUM.name, text: 'select 2' });
}

function failToSerialise(): never {
  throw new TypeError("Cannot read properties of undefined (reading 'connections')");
}

/** Matches a DatabaseUnavailable that has pg's error as its cause and its text in the message. */
function unavailable(expected: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof DatabaseUnavailable, String(error));
    assert.match(error.message, expected);
    assert.ok(error.cause instanceof Error);
    return isDatabaseUnavailable(error);
  };
}

test('a named statement takes its parameters in any order, and needs all of them', async () => {
  const text = 'select (:from::int - :less::int) as left, :from::text as from_text';
  const subtract = namedStatement('test_subtract', text);
  const rows = await db.query(subtract, subtract.values({ less: 2, from: 5 }));
  assert.deepEqual(rows, [{ left: 3, from_text: '5' }]);
  // @ts-expect-error: `less` is missing
  assert.throws(() => subtract.values({ from: 5 }), /test_subtract needs a value for less/);
});

test('characters that Postgres rejects in JSON are replaced, at any depth', () => {
  const half = '🎬'.slice(0, 1);
  const text = jsonText({ words: ['a\0b', `cut ${half}`], whole: '🎬', none: null, n: 1 });
  assert.equal(text, '{"words":["a�b","cut �"],"whole":"🎬","none":null,"n":1}');
});

test('the clock agrees with the database, also when the machine clock is hours off', async () => {
  const stopping = new AbortController();
  after(() => stopping.abort());
  const { db, setClock } = await openTestDatabase();
  for (const offsetSeconds of [0, -7200, 86_400]) {
    await setClock(offsetSeconds);
    const now = await followDatabaseClock({ db, log: quiet, signal: stopping.signal });
    const distanceMs = Math.abs(now() - (Date.now() + offsetSeconds * 1000));
    assert.ok(distanceMs < 1000, `${distanceMs} ms away`);
  }
});
