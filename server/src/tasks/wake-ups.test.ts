import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { createTestDatabase, quiet } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { until } from '../../test/until.ts';
import { openDatabase } from '../database/database.ts';
import { openWakeUps, WAKE_UPS, type WakeUp } from './wake-ups.ts';

const database = await createTestDatabase();
after(() => database.close());

/** Opens the wake-ups of a process that listens, and what it has received since it began. */
async function openListener(t: TestContext): Promise<WakeUp[]> {
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  const received: WakeUp[] = [];
  const { listen } = openWakeUps({ url: database.url, db: database.db, log: quiet });
  listen((wakeUp) => received.push(wakeUp), stopping.signal);
  await until(
    async () => received.length,
    (count) => count === WAKE_UPS.length,
  );
  received.length = 0;
  return received;
}

test('a wake-up reaches every process that listens; many at once become few', async (t) => {
  const listeners = [await openListener(t), await openListener(t)];
  const { send } = openWakeUps({ url: database.url, db: database.db, log: quiet });
  for (let i = 0; i < 100; i += 1) send('submit');
  send('ingest');
  await until(async () => listeners.every((received) => received.includes('ingest')), Boolean);
  await until(async () => listeners.every((received) => received.includes('submit')), Boolean);
  for (const received of listeners) {
    assert.ok(received.length < 10, `${received.length} notifications for 101 wake-ups`);
  }
});

test('a process that lost its connection listens again, and looks for what it has missed', async (t) => {
  const received = await openListener(t);
  await sql(
    database.db,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and query = 'listen framewright_wake_up'`,
  );
  await until(
    async () => received.length,
    (count) => count === WAKE_UPS.length,
  );
  assert.deepEqual(received.splice(0), [...WAKE_UPS]);
  const { send } = openWakeUps({ url: database.url, db: database.db, log: quiet });
  send('ingest');
  await until(
    async () => received,
    (all) => all.length > 0,
  );
  assert.deepEqual(received, ['ingest']);
});

test('a process hears its own wake-ups at once and once, and those of others', async (t) => {
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  const received: WakeUp[] = [];
  const own = openWakeUps({ url: database.url, db: database.db, log: quiet });
  own.listen((wakeUp) => received.push(wakeUp), stopping.signal);
  await until(
    async () => received.length,
    (count) => count === WAKE_UPS.length,
  );
  received.length = 0;
  own.send('submit');
  assert.deepEqual(received, ['submit']);
  const other = openWakeUps({ url: database.url, db: database.db, log: quiet });
  await until(async () => {
    other.send('poll'); // its notifications come after the one of `submit`
    return received.includes('poll');
  }, Boolean);
  assert.equal(received.filter((wakeUp) => wakeUp === 'submit').length, 1);
});

test('a wake-up that could not be sent hides none of another process', async (t) => {
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  const received: WakeUp[] = [];
  const closed = openDatabase({ url: database.url, connections: 1, log: quiet });
  await closed.close();
  const own = openWakeUps({ url: database.url, db: closed, log: quiet });
  own.listen((wakeUp) => received.push(wakeUp), stopping.signal);
  const count = (wanted: number) =>
    until(
      async () => received.length,
      (length) => length === wanted,
    );
  await count(WAKE_UPS.length);
  own.send('submit');
  await count(WAKE_UPS.length + 1);
  openWakeUps({ url: database.url, db: database.db, log: quiet }).send('submit');
  await count(WAKE_UPS.length + 2);
});

test('without the database nothing is sent, and nothing fails', async () => {
  const closed = openDatabase({ url: database.url, connections: 1, log: quiet });
  await closed.close();
  const sent = Promise.withResolvers<void>();
  const db = {
    ...closed,
    query: (...args: Parameters<typeof closed.query>) =>
      closed.query(...args).finally(() => sent.resolve()),
  };
  openWakeUps({ url: database.url, db: db as typeof closed, log: quiet }).send('submit');
  await sent.promise;
});
