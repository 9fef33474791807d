import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, quiet } from '../../test/database.ts';
import { openSwallowingProxy } from '../../test/faults/swallowing-proxy.ts';
import { until } from '../../test/until.ts';
import { DatabaseUnavailable, isDatabaseUnavailable, openDatabase, statement } from './database.ts';
import { createCircuitBreaker } from './pool.ts';

const ONE = statement('test_one', 'select 1 as one');
const SLEEP = statement('test_sleep', 'select pg_sleep(60)');

const database = await openTestDatabase();

function openShort(url: string) {
  return openDatabase({ url, connections: 4, log: quiet, statementSeconds: 0.2 });
}

test('the server ends a slow statement, so that its outcome is certain', async () => {
  const db = openShort(database.url);
  await assert.rejects(db.query(SLEEP), { code: '57014' });
  await db.close();
});

test('a statement without a response fails, and the idle connections are closed', async () => {
  await using proxy = await openSwallowingProxy(database.url);
  const db = openShort(proxy.url);
  const one = () => db.query(ONE);
  await Promise.all([one(), one(), one(), one()]); // four connections
  proxy.forgetConnections();
  await assert.rejects(one(), DatabaseUnavailable);
  assert.deepEqual(await Promise.all([one(), one(), one()]), Array(3).fill([{ one: 1 }]));
  await db.close();
});

test('during an outage work fails at once, and it succeeds soon after the outage', async () => {
  await using proxy = await openSwallowingProxy(database.url);
  const db = openShort(proxy.url);
  const one = () => db.query(ONE);
  await one();
  proxy.swallow();
  // The first one waits for a response; the others wait for a connection, and the breaker ends it.
  await Promise.all(Array.from({ length: 9 }, () => assert.rejects(one(), isDatabaseUnavailable)));
  const failure = await db.query(ONE).catch((error: unknown) => error);
  assert.ok(isDatabaseUnavailable(failure), String(failure));
  proxy.forward();
  const rows = await until(
    () => one().catch(() => []),
    (found) => found.length === 1,
  );
  assert.deepEqual(rows, [{ one: 1 }]);
  await db.close();
});

test('work that waits when an outage begins fails with its cause', async () => {
  const causes = [new Error('no response')];
  const breaker = createCircuitBreaker({
    log: quiet,
    attempt: async () => {
      const cause = causes.pop();
      if (cause) throw cause;
    },
  });
  breaker.check();
  const waiting = breaker.failFast(new Promise(() => {}));
  breaker.probe();
  await assert.rejects(waiting, /no response/);
  assert.throws(() => breaker.check(), /no response/);
  await until(
    async () => {
      try {
        breaker.check();
        return true;
      } catch {
        return false;
      }
    },
    (isOver) => isOver,
  );
  breaker.stop();
});
