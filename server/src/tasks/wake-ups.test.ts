import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openTestDatabase, quiet } from '../../test/database.ts';
import { sql } from '../../test/task-fixtures.ts';
import { until } from '../../test/until.ts';
import { openDatabase } from '../database/database.ts';
import { openWakeUps, WAKE_UPS, type WakeUp } from './wake-ups.ts';

const database = await openTestDatabase();

/** A process that listens: what it has received since it began, and how it sends wake-ups. */
async function openListener(t: TestContext, db = database.db) {
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  const received: WakeUp[] = [];
  const { listen, send } = openWakeUps({ url: database.url, db, log: quiet });
  listen((wakeUp) => received.push(wakeUp), stopping.signal);
  await until(async () => received.length === WAKE_UPS.length);
  received.length = 0;
  return { received, send };
}

/** Sends from another process. */
function sendElsewhere(...wakeUps: WakeUp[]): void {
  const { send } = openWakeUps({ url: database.url, db: database.db, log: quiet });
  for (const wakeUp of wakeUps) send(wakeUp);
}

test('a wake-up reaches every process that listens; many at once become few', async (t) => {
  const listeners = [await openListener(t), await openListener(t)];
  sendElsewhere(...Array<WakeUp>(100).fill('submit'), 'ingest');
  for (const { received } of listeners) {
    await until(async () => received.includes('ingest') && received.includes('submit'));
    assert.ok(received.length < 10, `${received.length} notifications for 101 wake-ups`);
  }
});

test('a process that lost its connection listens again, and looks for what it has missed', async (t) => {
  const { received } = await openListener(t);
  const select = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query = 'listen framewright_wake_up'`;
  await sql(database.db, select);
  await until(async () => received.length === WAKE_UPS.length);
  assert.deepEqual(received.splice(0), [...WAKE_UPS]);
  sendElsewhere('ingest');
  await until(async () => received.length > 0);
  assert.deepEqual(received, ['ingest']);
});

test('a process gets its own wake-ups at once and only once, and those of others', async (t) => {
  const { received, send } = await openListener(t);
  send('submit');
  assert.deepEqual(received, ['submit']);
  const other = openWakeUps({ url: database.url, db: database.db, log: quiet });
  await until(async () => {
    other.send('poll'); // its notifications come after the one of `submit`
    return received.includes('poll');
  });
  assert.equal(received.filter((wakeUp) => wakeUp === 'submit').length, 1);
});

test('without the database a wake-up reaches its own process, and one from another still arrives', async (t) => {
  const closed = openDatabase({ url: database.url, connections: 1, log: quiet });
  await closed.close();
  const { received, send } = await openListener(t, closed);
  send('submit');
  assert.deepEqual(received, ['submit']);
  sendElsewhere('submit');
  await until(async () => received.length === 2);
});
