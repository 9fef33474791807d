import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestDatabase, quiet, type TestDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import {
  type Database,
  isDatabaseUnavailable,
  namedStatement,
  openDatabase,
  type Queryable,
  statement,
  together,
  violatedConstraint,
} from './database.ts';

const ADD = statement('test_add', 'insert into counted (n) values ($1)');
const SUM = statement('test_sum', 'select coalesce(sum(n), 0)::bigint as total from counted');

let database: TestDatabase;
let db: Database;

before(async () => {
  database = await createTestDatabase();
  db = database.db;
  await db.query({
    name: '',
    text: 'create table counted (n bigint not null unique, constraint small check (n < 1e15))',
  });
});
after(() => database.close());

async function total(through: Queryable = db): Promise<number | undefined> {
  const [row] = await through.query<{ total: number }>(SUM);
  return row?.total;
}

test('a transaction commits all of its statements, or none when its work throws', async () => {
  await db.transaction(async (tx) => {
    await tx.query(ADD, [1]);
    await tx.query(ADD, [2]);
    assert.equal(await total(), 0, 'nobody else sees them yet');
  });
  assert.equal(await total(), 3);
  const failing = db.transaction(async (tx) => {
    await tx.query(ADD, [4]);
    throw new Error('changed my mind');
  });
  await assert.rejects(failing, /changed my mind/);
  assert.equal(await total(), 3);
});

test('a snapshot sees one moment and changes nothing', async () => {
  await db.snapshot(async (tx) => {
    const before = await total(tx);
    await db.query(ADD, [10]);
    assert.equal(await total(tx), before);
  });
  await assert.rejects(
    db.snapshot((tx) => tx.query(ADD, [11])),
    { code: '25006' },
  );
});

test('statements sent together run in their order, and the first failure is the one that is told', async () => {
  const before = await total();
  await db.transaction((tx) => together(tx.query(ADD, [20]), tx.query(ADD, [21])));
  assert.equal(await total(), (before ?? 0) + 41);
  const failing = db.transaction((tx) =>
    together(tx.query(ADD, [22]), tx.query(ADD, [20]), tx.query(ADD, [1e15]), total(tx)),
  );
  await assert.rejects(failing, { constraint: 'counted_n_key' });
  assert.equal(await total(), (before ?? 0) + 41);
});

test('bigints come as numbers', async () => {
  const [row] = await db.query<{ n: unknown }>({
    name: '',
    text: 'select 9007199254740991::bigint as n',
  });
  assert.equal(row?.n, Number.MAX_SAFE_INTEGER);
});

test('a violated constraint is told by its name, other failures are not', async () => {
  const violationOf = (sql: string) =>
    db.query({ name: '', text: sql }).then(
      () => 'nothing failed',
      (error: unknown) => violatedConstraint(error),
    );
  assert.equal(await violationOf('insert into counted (n) values (1)'), 'counted_n_key');
  assert.equal(await violationOf('insert into counted (n) values (1e15)'), 'small');
  assert.equal(await violationOf('select * from nowhere'), undefined);
  assert.equal(violatedConstraint(new Error('other')), undefined);
});

test('a lost connection fails its work and is replaced: the pool goes on', async () => {
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

test('a database that can not be reached is told from a statement that is wrong', async () => {
  const url = new URL(database.url);
  url.port = '1';
  const away = openDatabase({ url: url.href, connections: 1, log: quiet });
  await assert.rejects(away.query(SUM), isDatabaseUnavailable);
  await away.close();
  await assert.rejects(db.query({ name: '', text: 'select 1 / 0' }), (error) => {
    return !isDatabaseUnavailable(error);
  });
  assert.equal(isDatabaseUnavailable('connection'), false);
});

test('a named statement gives each parameter its value, whatever the order', async () => {
  const subtract = namedStatement(
    'test_subtract',
    ['less', 'from'],
    'select (:from::int - :less::int) as left, :from::text as from_text',
  );
  const rows = await db.query(subtract, subtract.values({ from: 5, less: 2 }));
  assert.deepEqual(rows, [{ left: 3, from_text: '5' }]);
});

test('a named statement refuses names that are not listed, and listed names without a use', () => {
  assert.throws(
    () => namedStatement('test_typo', ['one'], 'select :one, :two'),
    /no parameter two/,
  );
  assert.throws(() => namedStatement('test_spare', ['one', 'two'], 'select :one'), /not use two/);
});
